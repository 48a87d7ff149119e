package login_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/gke/login"
)

func TestTheEngineersLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.json")
	user, err := json.Marshal(map[string]string{"type": "authorized_user", "client_id": "a", "client_secret": "canary", "refresh_token": "canary"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, user, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ credentials, token, want string }{
		"nothing":        {"", "", ""},
		"a token":        {"", "ya29.canary", ""},
		"a file":         {file, "", ""},
		"its content":    {string(user), "", ""},
		"a missing file": {file + "2", "", "GOOGLE_CREDENTIALS"},
		"no JSON":        {"{canary", "", "no credentials in JSON"},
		"another type":   {`{"type": "canary"}`, "", "no credentials of a known type"},
	} {
		t.Setenv("GOOGLE_CREDENTIALS", test.credentials)
		t.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", test.token)
		source, err := login.FromVariables(t.Context())
		if test.want == "" && (err != nil || (source == nil) != (name == "nothing")) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
