package plans

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/program"
	"github.com/strata-platform/strata/operator/controller/shape"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/plan"
)

// Variables of a Stack that the operator itself needs to read the state.
const (
	backendVariable    = "PULUMI_BACKEND_URL"
	passphraseVariable = "PULUMI_CONFIG_PASSPHRASE"
)

// googleVariables are the variables that Google's provider takes credentials from (its documentation, "Authentication").
var googleVariables = []string{
	"GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN",
	"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
}

// noIdentity are the variables of a preview that keep Google's provider from looking for an identity. The provider does not start
// without a token, but a preview needs none: it makes no request unless the program looks something up. The token is no credential, and
// nothing answers at the address in place of the metadata server's.
var noIdentity = map[string]string{"GOOGLE_OAUTH_ACCESS_TOKEN": "none", "GCE_METADATA_HOST": "127.0.0.1:9"}

// aboutIdentity matches the message of a preview that needed an identity of Google.
var aboutIdentity = regexp.MustCompile(`(?i)credential|unauthenticated|unauthorized|invalid authentication|googleapi|oauth|error 40[13]`)

// preview plans a target. The error is that of ctx, or one after which another attempt may succeed.
func (r *reconciler) preview(ctx context.Context, w *work, t *target) (plan.Stack, error) {
	req, err := r.request(ctx, w, t)
	if ctx.Err() != nil || unavailable(err) {
		return plan.Stack{}, errors.Join(err, ctx.Err())
	}
	var result *engine.Result
	if err == nil {
		result, err = r.Engine.Run(ctx, req)
	}
	if ctx.Err() != nil {
		return plan.Stack{}, errors.Join(err, ctx.Err())
	}
	if err == nil && result.Plan == nil {
		err = errors.New("the preview has no result")
	}
	if err != nil {
		t.failure = err.Error()
		if failure := (*engine.Error)(nil); errors.As(err, &failure) {
			t.failure = failure.Message
		}
		if aboutIdentity.MatchString(t.failure) {
			t.failure += " (a plan has no Google identity, so a program that looks up resources of Google Cloud cannot be planned)"
		}
		return t.result(), nil
	}
	return planned(t, result), nil
}

// request returns the request for the preview of a target. Besides the passphrase, with which the engine itself reads the state,
// and the backend's address, it contains no secret.
func (r *reconciler) request(ctx context.Context, w *work, t *target) (engine.Request, error) {
	spec := &t.stack.Spec
	req := engine.Request{Stack: spec.Stack, SecretsProvider: spec.SecretsProvider}
	if t.removed {
		req.Project, req.Stack = t.live.Status.ProjectInfo.Name, t.live.Status.ProjectInfo.Stack
	} else {
		if err := fields.Validate(spec); err != nil {
			return req, err
		}
		err := program.Check(t.program, program.ConfigKeys(spec))
		if err == nil {
			req.Program, _, err = program.ProjectFile(t.program)
		}
		if err != nil {
			return req, err
		}
		req.Project = t.program.Name
		shape.Update(spec, &req)
		req.Refresh, req.ExpectNoRefreshChanges, req.RunProgram, req.Options.ExpectNoChanges = false, false, false, false
	}
	req.Operation = engine.Plan
	in, err := r.inputs(ctx, w, t, func(dependents.Object) {})
	if err != nil {
		return req, err
	}
	req.Env, req.Config, req.SecretConfig = visible(in), in.Config, map[string]string{}
	for key, value := range in.SecretConfig {
		req.SecretConfig[key] = engine.Hide(value)
	}
	if err := r.place(ctx, t, &req); err != nil {
		return req, err
	}
	as := t.stack.DeepCopy()
	as.Spec.ServiceAccountName, as.Spec.WorkspaceTemplate = plan.Account, nil
	_, err = identity.Set(ctx, r.Client, r.Config, as, &req)
	return req, err
}

// place sets the backend and the passphrase of a request, and checks that the target may use the place of its state.
func (r *reconciler) place(ctx context.Context, t *target, req *engine.Request) error {
	only := v1.StackSpec{EnvRefs: map[string]v1.ResourceRef{}}
	for _, name := range []string{backendVariable, passphraseVariable} {
		if ref, is := t.stack.Spec.EnvRefs[name]; is {
			only.EnvRefs[name] = ref
		}
	}
	own, err := inputs.New(r.Client, t.stack.Namespace, func(dependents.Object) {}, r.advice(t)).Resolve(ctx, &only)
	if err != nil {
		return err
	}
	// The engine reads the state with the passphrase, and gives the preview another one.
	req.Backend, req.Env[passphraseVariable], req.Secrets = cmp.Or(t.stack.Spec.Backend, own.Env[backendVariable]), own.Env[passphraseVariable], own.Secrets
	if r.Backends != "" {
		req.BackendFolder, req.StateRoot = filepath.Join(r.Backends, t.stack.Namespace), r.Backends
	}
	if err := req.CheckBackend(); err != nil {
		return err
	}
	if t.removed {
		return nil
	}
	if t.live != nil {
		if err := claims.CheckPlace(t.live.Status.ProjectInfo, req.Project, *req); err != nil {
			return err
		}
	}
	info := claims.Place(req.Project, *req)
	claimant := claims.Claimant{Claims: r.Claims, Stack: t.stack, Depend: func(dependents.Object) {}}
	return claimant.Check(ctx, &info)
}

// inputs resolves the references of a target, with placeholders for all values from Secrets.
func (r *reconciler) inputs(ctx context.Context, w *work, t *target, depend func(dependents.Object)) (*inputs.Inputs, error) {
	spec := t.stack.Spec.DeepCopy()
	// The operator's own variables have their own way: see place.
	for _, name := range []string{backendVariable, passphraseVariable} {
		delete(spec.EnvRefs, name)
	}
	spec.AccessTokenSecret = ""
	return inputs.New(hidden{r.Client, w.configMaps}, t.stack.Namespace, depend, r.advice(t)).Resolve(ctx, spec)
}

func (r *reconciler) advice(t *target) func(ctx context.Context, name, otherwise string) string {
	return tenant.NewReader(r.Client.RESTMapper(), r.Client, t.stack.Namespace, func(dependents.Object) {}).Advice
}

// visible returns the variables that a preview gets: none of Pulumi's own, none from a Secret, and none with an identity.
func visible(in *inputs.Inputs) map[string]string {
	given := maps.Clone(in.Env)
	maps.DeleteFunc(given, func(name, value string) bool {
		return strings.HasPrefix(name, "PULUMI_") || slices.Contains(in.Secrets, value)
	})
	for _, name := range googleVariables {
		delete(given, name)
	}
	maps.Copy(given, noIdentity)
	return given
}

// unavailable reports whether an error is that of a request that may succeed later.
func unavailable(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && transient(err)
}
