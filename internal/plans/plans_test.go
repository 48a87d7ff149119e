package plans_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-platform/strata/internal/plans"
)

func TestANameContainsBranchSyncAndCommit(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef01234567"
	long := strings.Repeat("long-", 30)
	for name, tc := range map[string]struct{ branch, sync, want string }{
		"a branch":                         {"feature", "web", "feature-0123456789"},
		"a branch in a folder":             {"Feature/Add_a.DB", "web", "feature-add-a-db-0123456789"},
		"no branch":                        {"", "web", "commit-0123456789"},
		"a branch without a usable letter": {"数据", "web", "commit-0123456789"},
		"another sync":                     {"feature", "infra", "feature-infra-0123456789"},
		"a long branch":                    {long, "web", ""},
		"a long branch and sync":           {long, "s" + long, ""},
		"a branch that ends in dashes":     {strings.Repeat("a", 51) + "---b", "web", strings.Repeat("a", 51) + "-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			got := plans.Name(plans.Commit{Branch: tc.branch, ID: id}, plans.Sync{Name: tc.sync, Source: "web"})
			if problems := validation.IsDNS1123Label(got); len(problems) > 0 || len(got) > 63 {
				t.Errorf("%q: %v", got, problems)
			}
			if !strings.HasPrefix(name, "a long") && got != tc.want {
				t.Errorf("the name is %q, want %q", got, tc.want)
			}
			if !strings.HasSuffix(got, "-0123456789") {
				t.Errorf("the name is %q", got)
			}
		})
	}
	if plans.BranchValue("a") == plans.BranchValue("b") || len(validation.IsValidLabelValue(plans.BranchValue("数据/"+long))) > 0 {
		t.Error("branches are not distinguished")
	}
}
