package cloud_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const (
	referencePage = "docs/reference/emulated-google-cloud.md"
	// callsBegin and callsEnd enclose the table of calls in the page.
	callsBegin, callsEnd = "<!-- calls -->\n", "<!-- end of calls -->\n"
)

// TestReferenceListsEveryCall compares the reference page's table of calls with the table that TestRolesOnEveryCall
// checks against the router.
func TestReferenceListsEveryCall(t *testing.T) {
	path := filepath.Join(toolchaintest.Root(t), filepath.FromSlash(referencePage))
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), callsBegin)
	listed, after, ends := strings.Cut(rest, callsEnd)
	if !begins || !ends {
		t.Fatalf("%s has no table of calls between %q and %q", referencePage, callsBegin, callsEnd)
	}
	want := callTables(readCalls(t))
	if listed == want {
		return
	}
	if !*update {
		t.Fatalf("the calls in %s are not those of the router: update the page with go test ./internal/local/cloud -run %s -update", referencePage, t.Name())
	}
	if err := os.WriteFile(path, []byte(before+callsBegin+want+callsEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReferenceNamesEveryEndpoint(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), filepath.FromSlash(referencePage)))
	if err != nil {
		t.Fatal(err)
	}
	for variable, path := range cloud.Endpoints("") {
		if line := fmt.Sprintf("\n| `%s` | `%s` |\n", variable, path); !strings.Contains(string(page), line) {
			t.Errorf("%s does not have the line %s", referencePage, line)
		}
	}
}

// documentedAPI is an API in the reference page.
type documentedAPI struct{ prefix, title, host string }

func documentedAPIs() []documentedAPI {
	return []documentedAPI{
		{"iam", "Identity and Access Management", "iam.googleapis.com"},
		{"cloudresourcemanager", "Resource Manager", "cloudresourcemanager.googleapis.com"},
		{"serviceusage", "Service Usage", "serviceusage.googleapis.com"},
		{"container", "Kubernetes Engine", "container.googleapis.com"},
		{"compute", "Compute Engine", "compute.googleapis.com/compute"},
		{"sqladmin", "Cloud SQL Admin", "sqladmin.googleapis.com"},
		{"storage", "Cloud Storage", "storage.googleapis.com"},
		{"cloudkms", "Cloud Key Management Service", "cloudkms.googleapis.com"},
		{"sts", "Security Token Service", "sts.googleapis.com"},
		{"iamcredentials", "Service Account Credentials", "iamcredentials.googleapis.com"},
		{"openidconnect", "OpenID Connect", "openidconnect.googleapis.com"},
	}
}

// callTables returns a table for each API. It also lists calls that belong to no documented API, which fails the
// comparison with the page.
func callTables(calls []emulatedCall) string {
	byAPI := map[string]map[string]string{} // permissions by call
	for _, call := range calls {
		method, path, _ := strings.Cut(call.route, " ")
		prefix, pattern, _ := strings.Cut(path, "/")
		if prefix == "sqladmin" {
			// Both versions of the API have the same calls.
			_, pattern, _ = strings.Cut(strings.TrimPrefix(pattern, "sql/"), "/")
			pattern = "sql/v1beta4|v1/" + pattern
		}
		permissions := "`" + strings.Join(call.permissions, "`, `") + "`"
		if len(call.permissions) == 0 {
			permissions = "anybody"
		}
		if byAPI[prefix] == nil {
			byAPI[prefix] = map[string]string{}
		}
		byAPI[prefix][pattern+" "+method] = permissions
	}
	var text strings.Builder
	for _, api := range documentedAPIs() {
		if byAPI[api.prefix] == nil {
			continue
		}
		fmt.Fprintf(&text, "\n### %s\n\n`/%s/`, instead of `https://%s/`\n\n| call | permission |\n|---|---|\n", api.title, api.prefix, api.host)
		for _, call := range slices.Sorted(maps.Keys(byAPI[api.prefix])) {
			pattern, method, _ := strings.Cut(call, " ")
			// A bar must be escaped in a table.
			fmt.Fprintf(&text, "| `%s %s` | %s |\n", method, strings.ReplaceAll(pattern, "|", `\|`), byAPI[api.prefix][call])
		}
		delete(byAPI, api.prefix)
	}
	for prefix := range byAPI {
		fmt.Fprintf(&text, "\n### %s is not among documentedAPIs\n", prefix)
	}
	return text.String() + "\n"
}
