package plans

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/strata-platform/strata/handoff/keys"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/approvals"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/google"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/controller/plans/hidden"
	"github.com/strata-platform/strata/operator/controller/program"
	"github.com/strata-platform/strata/operator/controller/shape"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/plan"
)

// Variables of a Stack that the operator itself needs to read the state.
const (
	backendVariable    = keys.BackendURL
	passphraseVariable = keys.Passphrase
)

// preview plans a target. The error is that of ctx, or one after which another attempt may succeed.
func (r *reconciler) preview(ctx context.Context, w *work, t *target) (plan.Stack, error) {
	access, err := r.Google.Open(ctx)
	var req engine.Request
	remove := func() {}
	if err == nil {
		req, remove, err = r.fetch(ctx, t)
	}
	defer remove()
	if err == nil {
		err = r.request(ctx, w, t, access, &req)
	}
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
	demand := ""
	if err == nil {
		// The last update of the Stack may demand an approval of the next one.
		as := t.stack.DeepCopy()
		if t.live != nil {
			as.Status = t.live.Status
		}
		if demand, err = approvals.Of(ctx, as, r.policies(t), result.Plan); unavailable(err) {
			return plan.Stack{}, err
		}
	}
	failure := (*engine.Error)(nil)
	switch {
	case t.unseen:
		return t.result(), nil
	case errors.As(err, &failure):
		if text := access.Explain(failure.Message); failure.Reason == engine.NotAllowed || failure.Reason == engine.ProjectInvalid {
			t.failure = text
		} else {
			t.fail(text)
		}
		return t.result(), nil
	case err != nil:
		t.failure = access.Explain(err.Error())
		return t.result(), nil
	}
	made, hides := planned.Stack(t.stack.Name, result.Plan)
	made.Content, made.Approval, made.Removed, t.hides = t.content, demand, t.removed, hides
	if demand != "" && t.content == "" {
		made.Approval, made.Message = "", planned.Clean("this Plan cannot be approved for the Stack, because its program comes from elsewhere: "+
			"its update will wait for an approval of its own: "+demand, planned.LongestMessage)
	}
	return made, nil
}

// request completes the request for the preview of a target. Besides the passphrase, with which the engine itself reads the state,
// and the backend's address, it contains no secret.
func (r *reconciler) request(ctx context.Context, w *work, t *target, access *google.Access, req *engine.Request) error {
	spec := &t.stack.Spec
	req.Stack, req.SecretsProvider = spec.Stack, cmp.Or(spec.SecretsProvider, req.SecretsProvider)
	if t.program != nil {
		err := fields.Validate(t.stack)
		if err == nil {
			err = program.Check(t.program, program.ConfigKeys(spec))
		}
		if err == nil {
			req.Program, _, err = program.ProjectFile(t.program)
		}
		if err != nil {
			return err
		}
		req.Project = t.program.Name
	}
	if t.removed {
		req.Project, req.Stack = t.live.Status.ProjectInfo.Name, t.live.Status.ProjectInfo.Stack
	} else {
		shape.Update(spec, req)
		req.Refresh, req.ExpectNoRefreshChanges, req.RunProgram, req.Options.ExpectNoChanges = false, false, false, false
	}
	req.Operation = engine.Plan
	in, err := r.inputs(ctx, w, t, func(dependents.Object) {})
	if err != nil {
		return err
	}
	req.Env, req.Config, req.SecretConfig = planned.Visible(in.Env, in.Secrets), in.Config, map[string]string{}
	for key, value := range in.SecretConfig {
		req.SecretConfig[key] = r.Hide(value)
	}
	// The address of the look-ups belongs to the preview, and not to what the Stack runs. After the merge, a source has another revision.
	if req.Source == nil {
		t.content = planned.Content(*req, "")
	}
	access.Limit(req.Env)
	req.Endpoints = access.Endpoints()
	if err := r.place(ctx, t, req); err != nil {
		return err
	}
	if err := r.export(ctx, t, req); err != nil {
		return err
	}
	as := t.stack.DeepCopy()
	as.Spec.ServiceAccountName, as.Spec.WorkspaceTemplate = plan.Account, nil
	_, err = identity.Set(ctx, r.Client, r.Config, as, nil, req)
	return err
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
	if former := own.Env[keys.FormerPassphrase]; former != "" {
		req.Env[keys.FormerPassphrase] = former
	}
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
	return inputs.New(hidden.Reader{From: r.Client, ConfigMaps: w.configMaps, Hide: r.Hide}, t.stack.Namespace, depend, r.advice(t)).Resolve(ctx, spec)
}

func (r *reconciler) advice(t *target) func(ctx context.Context, name, otherwise string) string {
	return r.policies(t).Advice
}

// policies returns the reader of the policy of a target's team.
func (r *reconciler) policies(t *target) *tenant.Reader {
	return tenant.NewReader(r.Client.RESTMapper(), r.Client, t.stack.Namespace, func(dependents.Object) {})
}

// unavailable reports whether an error is that of a request that may succeed later.
func unavailable(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && transient(err)
}
