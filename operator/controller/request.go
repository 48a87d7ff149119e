package controller

import (
	"path/filepath"
	"slices"

	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/records"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
)

// request returns an engine request with the stack, its backend and its environment.
func (s *session) request(in *inputs.Inputs) (engine.Request, error) {
	spec := &s.stack.Spec
	req := engine.Request{
		Stack: spec.Stack, NoCreate: spec.UseLocalStackOnly,
		Backend: spec.Backend, SecretsProvider: spec.SecretsProvider,
		Env: in.Env, Secrets: in.Secrets,
	}
	return req, s.checkBackend(&req)
}

// checkBackend gives the run the folder of its namespace for file backends. Without a root for these folders, the request has no
// folder, and CheckBackend rejects every file backend.
func (s *session) checkBackend(req *engine.Request) error {
	if s.backends != "" {
		req.BackendFolder, req.StateRoot = filepath.Join(s.backends, s.stack.Namespace), s.backends
	}
	if err := req.CheckBackend(); err != nil {
		return stall.Invalid("%v", err)
	}
	return nil
}

// record returns the record for a later destroy of the request's resources.
func (s *session) record(project string, req engine.Request) records.Record {
	return records.Record{
		Namespace: s.stack.Namespace, Name: s.stack.Name,
		Project: project, Stack: req.Stack, Backend: req.Backend, SecretsProvider: req.SecretsProvider,
		Env: req.Env, Secrets: slices.Sorted(slices.Values(req.Secrets)),
	}
}
