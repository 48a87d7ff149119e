package cloud

import (
	"net/http"

	"go.etcd.io/bbolt"
)

// ServeHTTP answers one call.
func (c *Core) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == tokenPath {
		c.serveToken(w, r)
		return
	}
	found := c.find(r)
	answer, err := c.serveSelected(r, found)
	switch own, ok := answer.(http.Handler); {
	case err != nil && found.service != nil && found.service.writeError != nil:
		found.service.writeError(w, found.path, err)
	case err != nil:
		writeError(w, err)
	case ok:
		own.ServeHTTP(w, r)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

// serveSelected answers one call with the fields that the call selects.
func (c *Core) serveSelected(r *http.Request, found match) (any, error) {
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
	return selected.of(answer)
}

func (c *Core) serve(r *http.Request, found match) (any, error) {
	svc := found.service
	if svc == nil {
		return nil, notFound("%s is no API of the emulated Google Cloud.", r.URL.Path)
	}
	made := &call{request: r, vars: found.vars}
	var err error
	if made.who, err = c.authenticate(r, svc); err != nil {
		return nil, err
	}
	if found.route == nil {
		return nil, notFound("%s %s is not emulated by the emulated Google Cloud (%s).", r.Method, r.URL.Path, svc.name)
	}
	if err := c.store.view(func(tx *bbolt.Tx) error { return c.resolve(tx, svc, made) }); err != nil {
		return nil, err
	}
	if found.route.permission != "" {
		on := onProject(made)
		if found.route.on != nil {
			on = found.route.on(made)
		}
		err := c.store.view(func(tx *bbolt.Tx) error {
			return c.authorize(tx, svc, made.who, found.route.permission, on)
		})
		if err != nil {
			return nil, err
		}
	}
	return found.route.handle(made)
}

// resolve finds the project of a call. It refuses the call if the project has the API disabled, or if the caller may
// not use the quota of the project that the call names.
func (c *Core) resolve(tx *bbolt.Tx, svc *service, made *call) error {
	about := made.vars["project"]
	var err error
	if svc.project != nil {
		if about, err = svc.project(tx, made); err != nil {
			return err
		}
	}
	if made.project, err = findProject(tx, about); err != nil {
		return err
	}
	if err := c.requireEnabled(tx, svc, made.project); err != nil {
		return err
	}
	return c.requireQuotaProject(tx, svc, made)
}
