package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatAnotherStackHoldsIsNotTakenOver(t *testing.T) {
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
			r := &run{local: true, stateFolder: ".", Request: Request{
				Project: "shop", Stack: "organization/shop/dev", StateRoot: root, BackendFolder: filepath.Join(root, "team-web"),
			}}
			state := &deployment{}
			pending := fmt.Sprintf(`{"deployment": {"pending_operations": [{"type": "creating", "resource": %s}]}}`, fmt.Sprintf(database, ""))
			if err := state.decode([]byte(pending)); err != nil {
				t.Fatal(err)
			}
			var notes []string
			note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
			urns, creating := state.adopt(note, func(kind, id string) string { return r.holder(t.Context(), kind, id) })
			if !creating || len(notes) != 1 {
				t.Fatalf("creating %v with notes %q", creating, notes)
			}
			if c.held == "" {
				if len(urns) != 1 || !strings.Contains(notes[0], "taken over") {
					t.Errorf("it is not taken over: %q", notes)
				}
			} else if len(urns)+len(state.resources) != 0 || !strings.Contains(notes[0], "is of another stack, in "+c.held+":") {
				t.Errorf("it is taken over: %q", notes)
			}
		})
	}
}
