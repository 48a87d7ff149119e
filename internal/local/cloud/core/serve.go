package core

import (
	"log/slog"
	"net/http"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/auditlog"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// ServeHTTP handles one call.
func (c *Core) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case authn.TokenPath:
		c.ServeToken(w, r)
		return
	case authn.CertsPath:
		c.ServeCerts(w, r)
		return
	}
	found := c.Find(r)
	answer, err := c.serveSelected(r, found)
	switch own, ok := answer.(http.Handler); {
	case err != nil && found.Service != nil && found.Service.WriteError != nil:
		found.Service.WriteError(w, found.Path, err)
	case err != nil:
		api.WriteError(w, err)
	case ok:
		own.ServeHTTP(w, r)
	default:
		api.WriteJSON(w, http.StatusOK, answer)
	}
}

// serveSelected handles one call and returns the fields that the call selects.
func (c *Core) serveSelected(r *http.Request, found api.Match) (any, error) {
	fields := r.URL.Query().Get("fields")
	if fields == "" {
		return c.serve(r, found)
	}
	selected, err := parseFields(fields)
	if err != nil {
		return nil, err
	}
	answer, err := c.serve(r, found)
	if _, own := answer.(http.Handler); own || err != nil {
		return answer, err
	}
	return selected.apply(answer)
}

// serve authenticates and authorises a call, and passes it to its handler. The handler of a route without a permission checks the
// caller itself.
func (c *Core) serve(r *http.Request, found api.Match) (any, error) {
	svc := found.Service
	if svc == nil {
		return nil, api.NotFound("%s is not an API of the emulated Google Cloud.", r.URL.Path)
	}
	made := &api.Call{Request: r, Vars: found.Vars}
	if !svc.Anonymous {
		var err error
		// Before the check of the route, so that a caller without a login learns nothing about the emulated calls.
		if made.Who, err = c.Authenticate(r, svc); err != nil {
			return nil, err
		}
	}
	if found.Route == nil {
		return nil, api.NotFound("%s %s is not emulated by the emulated Google Cloud (%s).", r.Method, r.URL.Path, svc.Name)
	}
	ended := auditlog.Call{Match: found, Made: made, Began: c.Now()}
	answer, err := c.handle(&ended)
	c.audit(ended, err)
	return answer, err
}

// handle authorises an authenticated call and passes it to its handler. It notes in the call what the permission check was about.
func (c *Core) handle(call *auditlog.Call) (any, error) {
	svc, route, made := call.Match.Service, call.Match.Route, call.Made
	if err := c.Store.View(func(tx *bbolt.Tx) error { return c.resolve(tx, svc, made) }); err != nil {
		return nil, err
	}
	if route.Permission != "" {
		call.On = api.OnProject(made)
		if route.On != nil {
			call.On = route.On(made)
		}
		err := c.Store.View(func(tx *bbolt.Tx) (err error) {
			if call.Grant, err = c.Granting(tx, made.Who, route.Permission, call.On); err == nil && call.Grant == nil {
				err = svc.Denied(made.Who, route.Permission, call.On)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return route.Handle(made)
}

// audit records a call that changes a resource, or tries to.
func (c *Core) audit(call auditlog.Call, err error) {
	if c.auditLog == nil || !auditlog.Audited(call.Match) {
		return
	}
	call.Err, call.Now = err, c.Now()
	if err := c.auditLog.Record(call); err != nil {
		slog.Error("the audit log of the emulated Google Cloud misses a call", "error", err)
	}
}

// resolve finds the project of a call. It returns an error if the API is disabled in the project, or if the caller may
// not use the quota of the project in the call's header.
func (c *Core) resolve(tx *bbolt.Tx, svc *api.Service, made *api.Call) error {
	about := made.Vars["project"]
	var err error
	if svc.Project != nil {
		if about, err = svc.Project(tx, made); err != nil {
			return err
		}
	}
	if made.Project, err = api.FindProject(tx, about); err != nil {
		return err
	}
	if err := c.requireEnabled(tx, svc, made.Project); err != nil {
		return err
	}
	return c.RequireQuotaProject(tx, svc, made)
}
