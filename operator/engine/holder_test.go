package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/backend"
)

func TestObjectsOfAnotherStackAreNotAdopted(t *testing.T) {
	const (
		kind     = "gcp:sql/database:Database"
		database = `{"urn": "urn:pulumi:dev::shop::gcp:sql/database:Database::db", "type": "gcp:sql/database:Database", "custom": true%s, "inputs": {"project": "p", "instance": "i", "name": "shop"}}`
	)
	made := fmt.Sprintf(database, `, "id": "whatever the provider calls it"`)
	for name, c := range map[string]struct {
		// file is the state file of a stack with the database, and state its content.
		file, state string
		held        string
	}{
		"of another team":                    {"team-api/.pulumi/stacks/shop/dev.json", made, "team-api"},
		"of the same team":                   {"team-web/.pulumi/stacks/other/dev.json", made, "team-web"},
		"in a folder below":                  {"team-api/deep/.pulumi/stacks/shop/dev.json", made, "team-api"},
		"its own":                            {"team-web/.pulumi/stacks/shop/dev.json", made, ""},
		"a copy of a state":                  {"team-api/.pulumi/backups/shop/dev.json", made, ""},
		"another database":                   {"team-api/.pulumi/stacks/shop/dev.json", strings.Replace(made, `"i"`, `"j"`, 1), ""},
		"a resource of another type":         {"team-api/.pulumi/stacks/shop/dev.json", strings.ReplaceAll(made, kind, "gcp:sql/x:X"), ""},
		"nothing, as it is no state":         {"team-api/.pulumi/stacks/shop/dev.json", "}", ""},
		"nothing, as it is made from others": {"team-api/.pulumi/stacks/shop/dev.txt", made, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, fmt.Appendf(nil, `{"checkpoint": {"latest": {"resources": [%s]}}}`, c.state), 0o600); err != nil {
				t.Fatal(err)
			}
			r := &run{mask: newMask(Request{}), located: backend.Backend{Folder: "."}, Request: Request{
				Project: "shop", Stack: "organization/shop/dev", StateRoot: root, BackendFolder: filepath.Join(root, "team-web"),
			}}
			pending := fmt.Sprintf(`{"deployment": {"pending_operations": [{"type": "creating", "resource": %s}]}}`, fmt.Sprintf(database, ""))
			stack := &storedStack{state: []byte(pending)}
			settler := r.settler()
			settler.Stack = stack
			if err := settler.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(r.warnings) != 1 {
				t.Fatalf("warnings %q", r.warnings)
			}
			if c.held == "" {
				if !stack.refreshed || !strings.Contains(r.warnings[0], "adopts the object") {
					t.Errorf("it is not adopted: %q", r.warnings)
				}
			} else if stack.refreshed || strings.Contains(string(stack.state), kind) || !strings.Contains(r.warnings[0], "belongs to another stack, in "+c.held+":") {
				t.Errorf("it is adopted: %q", r.warnings)
			}
		})
	}
}

// storedStack is a stack in memory.
type storedStack struct {
	state     []byte
	refreshed bool
}

func (s *storedStack) Export(context.Context) ([]byte, error) { return s.state, nil }

func (s *storedStack) Import(_ context.Context, state []byte) error {
	s.state = state
	return nil
}

func (s *storedStack) Refresh(context.Context, []string) error {
	s.refreshed = true
	return nil
}
