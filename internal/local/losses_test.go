package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
)

func TestAnUnreadableStateIsNamedAndTheOthersAreRead(t *testing.T) {
	p := openTestPlatform(t)
	const state = `{"checkpoint": {"latest": {"resources": [{"type": "gcp:sql/database:Database", "inputs": {"name": "shop", "instance": "strata"}}]}}}`
	for path, content := range map[string]string{
		"team-data/.pulumi/stacks/cut/cut.json": state[:20],
		"team-web/.pulumi/stacks/shop/web.json": state,
	} {
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
	if !strings.Contains(plan.Unknown, "cut.json: ") || strings.Contains(plan.Unknown, "web.json") {
		t.Errorf("not known is said to be: %s", plan.Unknown)
	}
}
