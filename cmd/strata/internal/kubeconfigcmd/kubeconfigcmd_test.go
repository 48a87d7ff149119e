package kubeconfigcmd

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/strata-platform/strata/internal/local/kubeconfig/userfile"
)

// TestContextsOfFormerTeamsAreFound has a user's kubeconfig with contexts of two homes and of the user.
func TestContextsOfFormerTeamsAreFound(t *testing.T) {
	dir := t.TempDir()
	const own, other = "https://127.0.0.1:1", "https://127.0.0.1:2"
	merge := func(name string, contexts ...userfile.Context) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := userfile.Merge(path, contexts); err != nil {
			t.Fatal(err)
		}
		return path
	}
	admin := merge("admin", userfile.Context{Name: "admin", Server: own})
	user := merge("user",
		userfile.Context{Name: "strata-web", Server: own}, userfile.Context{Name: "strata-left", Server: own}, userfile.Context{Name: "strata-gone", Server: own},
		userfile.Context{Name: "strata-elsewhere", Server: other}, userfile.Context{Name: "mine", Server: own},
	)
	for name, test := range map[string]struct {
		admin, path string
		want        []string
	}{
		"those of this home's cluster":           {admin, user, []string{"strata-gone", "strata-left"}},
		"none without a cluster":                 {filepath.Join(dir, "none"), user, nil},
		"none without a kubeconfig":              {admin, filepath.Join(dir, "none"), nil},
		"none of a cluster that has no contexts": {merge("third", userfile.Context{Name: "admin", Server: "https://127.0.0.1:3"}), user, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := former(test.admin, test.path, []string{"strata-web"}); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
