package cloud

import (
	"net/http"
	"slices"
	"strconv"

	"go.etcd.io/bbolt"
)

const serviceStates table = "serviceStates" // <project>/<service>

// requireEnabled refuses a call about a project that has the API disabled.
func (c *Core) requireEnabled(tx *bbolt.Tx, svc *service, about *project) error {
	if about == nil || svc.alwaysEnabled {
		return nil
	}
	enabled, err := c.isEnabled(tx, about, svc.name)
	if err != nil || enabled {
		return err
	}
	number := strconv.FormatInt(about.Number, 10)
	visit := "https://console.developers.google.com/apis/api/" + svc.name + "/overview?project=" + number
	refusal := newError(http.StatusForbidden, "PERMISSION_DENIED", "accessNotConfigured",
		"%s has not been used in project %s before or it is disabled. Enable it by visiting %s then retry. "+
			"If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.",
		svc.title, number, visit)
	return refusal.withInfo("SERVICE_DISABLED", "googleapis.com", map[string]string{
		"service": svc.name, "serviceTitle": svc.title, "consumer": "projects/" + number, "containerInfo": number, "activationUrl": visit,
	})
}

// isEnabled reports whether a project has an API enabled. A new project has the emulated ones enabled.
func (c *Core) isEnabled(tx *bbolt.Tx, about *project, name string) (bool, error) {
	state, err := get[bool](tx, serviceStates, about.ID+"/"+name)
	if err != nil || state != nil {
		return state != nil && *state, err
	}
	return slices.ContainsFunc(c.services(), func(svc *service) bool { return svc.name == name && svc.title != "" }), nil
}
