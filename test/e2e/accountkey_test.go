package e2e

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"
)

// accountKey: [!] accountkey FILE TEAM — asks the token endpoint for a token with the key of a team's Google account, by Google's client.
// FILE has the output tenants of layer 1 in JSON. With "!", the endpoint must answer invalid_grant: the key is dead.
func accountKey(ts *testscript.TestScript, dead bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: accountkey FILE TEAM")
	}
	var tenants map[string]struct {
		Credentials string `json:"credentials"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &tenants))
	login, err := google.CredentialsFromJSONWithType(context.Background(), []byte(tenants[args[1]].Credentials), google.ServiceAccount, iam.CloudPlatformScope)
	ts.Check(err)
	_, err = login.TokenSource.Token()
	switch {
	case dead && (err == nil || !strings.Contains(err.Error(), "invalid_grant")):
		ts.Fatalf("the endpoint answers the former key with %v, want invalid_grant", err)
	case !dead:
		ts.Check(err)
	}
}
