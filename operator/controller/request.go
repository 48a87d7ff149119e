package controller

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

// request returns an engine request with the stack, its backend and its environment.
func (s *session) request(in *inputs) (engine.Request, error) {
	spec := &s.stack.Spec
	req := engine.Request{
		Stack: spec.Stack, NoCreate: spec.UseLocalStackOnly,
		Backend: spec.Backend, SecretsProvider: spec.SecretsProvider,
		Env: in.env, Secrets: in.secrets,
	}
	return req, s.checkBackend(&req)
}

func (s *session) checkBackend(req *engine.Request) error {
	if s.backends != "" {
		req.BackendFolder, req.StateRoot = filepath.Join(s.backends, s.stack.Namespace), s.backends
	}
	if err := req.CheckBackend(); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// shape sets the operation and the options for an update from the spec.
func (s *session) shape(req *engine.Request) {
	spec := &s.stack.Spec
	req.Operation = engine.Up
	if spec.Preview {
		req.Operation = engine.Preview
	}
	req.Refresh, req.ExpectNoRefreshChanges = spec.Refresh, spec.ExpectNoRefreshChanges
	req.Targets, req.TargetDependents = spec.Targets, spec.TargetDependents
	template := updateOf(spec)
	if template.Type != nil && !spec.Preview {
		req.Operation = engine.Operation(*template.Type)
	}
	if template.Target != nil {
		req.Targets = template.Target
	}
	set(&req.TargetDependents, template.TargetDependents)
	set(&req.Refresh, template.Refresh)
	req.Options.Replace = template.Replace
	set(&req.Options.ExpectNoChanges, template.ExpectNoChanges)
	s.shapeAny(req)
}

// shapeAny sets the options that apply to both an update and a destroy.
func (s *session) shapeAny(req *engine.Request) {
	template := updateOf(&s.stack.Spec)
	if template.Parallel != nil {
		req.Options.Parallel = int(*template.Parallel)
	}
	set(&req.Options.Message, template.Message)
	set(&req.Options.ContinueOnError, template.ContinueOnError)
	set(&req.Options.Remove, template.Remove)
	set(&req.RunProgram, template.RunProgram)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func updateOf(spec *v1.StackSpec) v1.UpdateTemplateSpec {
	if spec.UpdateTemplate == nil || spec.UpdateTemplate.Spec == nil {
		return v1.UpdateTemplateSpec{}
	}
	return *spec.UpdateTemplate.Spec
}

// stays returns an error if the spec moves the Stack to another Pulumi stack while the
// present one may hold resources. Nobody would destroy these resources.
func (s *session) stays(project string, req engine.Request) error {
	held := s.stack.Status.ProjectInfo
	if held == nil || held.Stack == "" {
		return nil
	}
	now := place(cmp.Or(project, held.Name), req)
	if now.Name == held.Name && now.Stack == held.Stack && now.Backend == held.Backend {
		return nil
	}
	return invalid("the resources of this Stack are in %s, and its spec now says %s: they would be left behind. "+
		"Change it back, or delete this Stack and create another; destroyOnFinalize decides whether the resources are destroyed then",
		describe(held), describe(&now))
}

// place returns the project, stack and backend of a request.
func place(project string, req engine.Request) v1.ProjectInfo {
	return v1.ProjectInfo{
		Name: project, Stack: req.Stack, SecretsProvider: req.SecretsProvider,
		Backend: publicAddress(cmp.Or(req.Backend, req.Env["PULUMI_BACKEND_URL"])),
	}
}

func describe(info *v1.ProjectInfo) string {
	backend := cmp.Or(info.Backend, "Pulumi's service")
	return fmt.Sprintf("stack %s of project %s in %s", info.Stack, info.Name, backend)
}

// publicAddress returns a backend's address without the parts that may be secret.
func publicAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		scheme, _, _ := strings.Cut(address, "://")
		return scheme + "://"
	}
	// The query of a bucket's address names its region or endpoint. The query of a
	// database's address may hold a password.
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return strings.TrimRight(parsed.String(), "/")
}

// record returns the record for a later destroy of the request's resources.
func (s *session) record(project string, req engine.Request) record {
	return record{
		Namespace: s.stack.Namespace, Name: s.stack.Name,
		Project: project, Stack: req.Stack, Backend: req.Backend, SecretsProvider: req.SecretsProvider,
		Env: req.Env, Secrets: slices.Sorted(slices.Values(req.Secrets)),
	}
}
