package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// stateWith returns a state file with a database.
func stateWith(database string) string {
	return `{"checkpoint": {"latest": {"resources": [{"type": "gcp:sql/database:Database", "inputs": {"name": "` + database + `", "instance": "strata"}}]}}}`
}

func TestAnUnreadableStateIsNamedAndTheOthersAreRead(t *testing.T) {
	p := openTestPlatform(t)
	contents := map[string]string{"team-web/.pulumi/stacks/shop/web.json": stateWith("shop")}
	for i := range 25 {
		contents[fmt.Sprintf("team-data/.pulumi/stacks/cut/cut%02d.json", i)] = stateWith("data")[:20]
	}
	for path, content := range contents {
		path = filepath.Join(p.Home.TenantStates(), filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := lifecycle.New(p).Plan(t.Context(), false)
	if !slices.Equal(plan.Lost, []string{"database shop of instance strata"}) {
		t.Errorf("lost would be %q", plan.Lost)
	}
	if !strings.Contains(plan.Unknown, ".json: ") || !strings.Contains(plan.Unknown, "… and 5 more of them") || strings.Contains(plan.Unknown, "web.json") {
		t.Errorf("not known is said to be: %s", plan.Unknown)
	}
}
