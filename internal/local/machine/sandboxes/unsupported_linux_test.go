package sandboxes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
)

func TestTheReasonNamesTheWayOut(t *testing.T) {
	cause := errors.New("operation not permitted")
	tests := map[string]struct {
		settings map[string]string
		reason   sandboxes.Reason
		fix      string
	}{
		"no user namespaces":          {map[string]string{"max_user_namespaces": "0"}, sandboxes.UserNamespacesDisabled, "user.max_user_namespaces"},
		"Debian's setting":            {map[string]string{"unprivileged_userns_clone": "0"}, sandboxes.UserNamespacesDisabled, "kernel.unprivileged_userns_clone=1"},
		"AppArmor of Ubuntu":          {map[string]string{"apparmor_restrict_unprivileged_userns": "1"}, sandboxes.AppArmorRestricted, "userns,"},
		"something else, a container": {nil, sandboxes.Forbidden, "container"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := sandboxes.Diagnose(cause, func(path string) string { return test.settings[path[strings.LastIndex(path, "/")+1:]] })
			if err.Reason != test.reason || !strings.Contains(err.Error(), test.fix) || !errors.Is(err, cause) {
				t.Errorf("%s: %v", err.Reason, err)
			}
		})
	}
}

func TestProbeSucceedsWhereStartDoes(t *testing.T) {
	if err := sandboxes.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}
