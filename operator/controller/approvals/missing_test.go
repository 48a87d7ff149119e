package approvals_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/controller/approvals"
	"github.com/strata-platform/strata/operator/plan"
)

const database, configMap = "gcp:sql/database:Database", "kubernetes:core/v1:ConfigMap"

func TestAnApprovedPlanCoversARunThatDoesNoMore(t *testing.T) {
	field := func(path string) plan.Field { return plan.Field{Path: path, Replaces: true} }
	lose := func(op, name string, fields ...plan.Field) plan.Step {
		return plan.Step{Op: op, Name: name, Type: database, LosesData: true, Fields: fields}
	}
	update := func(name string) plan.Step { return plan.Step{Op: "update", Name: name, Type: configMap} }
	approved := plan.Stack{Name: "shop", Content: "c", State: "s", More: 2, Steps: []plan.Step{
		lose("delete", "old"), lose("replace", "orders", field("name")), {Op: "replace", Name: "big", Type: database, LosesData: true, More: 3}, update("a"),
	}}
	for name, tc := range map[string]struct {
		change func(approved, now *plan.Stack)
		steps  []plan.Step
		unseen int
		want   string
	}{
		"the same":                         {steps: approved.Steps},
		"less":                             {steps: approved.Steps[:1]},
		"another order":                    {steps: []plan.Step{approved.Steps[3], approved.Steps[1], approved.Steps[0]}},
		"steps that the plan only counts":  {steps: []plan.Step{update("b"), update("c")}},
		"more than the plan counts":        {steps: []plan.Step{update("b"), update("c"), update("d")}, want: "1 of the changes"},
		"steps that nobody has seen":       {steps: []plan.Step{update("b")}, unseen: 2, want: "1 of the changes"},
		"another deletion":                 {steps: []plan.Step{lose("delete", "orders")}, want: `does not contain the step: delete gcp:sql/database:Database "orders"`},
		"the same name twice":              {steps: []plan.Step{lose("delete", "old"), lose("delete", "old")}, want: `delete gcp:sql/database:Database "old"`},
		"another type of this name":        {steps: []plan.Step{{Op: "delete", Name: "old", Type: "gcp:storage/bucket:Bucket", LosesData: true}}, want: `gcp:storage/bucket:Bucket "old"`},
		"the reason of the replacement":    {steps: []plan.Step{lose("replace", "orders", field("name"))}},
		"a further reason":                 {steps: []plan.Step{lose("replace", "orders", field("name"), field("charset"))}, want: `replace gcp:sql/database:Database "orders"`},
		"a field that replaces nothing":    {steps: []plan.Step{lose("replace", "orders", field("name"), plan.Field{Path: "charset"})}},
		"a reason that the plan counts":    {steps: []plan.Step{lose("replace", "big", field("name"))}},
		"another program":                  {change: func(_, now *plan.Stack) { now.Content = "d" }, want: "the program, the config or the options have changed"},
		"another state":                    {change: func(_, now *plan.Stack) { now.State = "t" }, want: "the Stack's resources have changed"},
		"a destroy":                        {change: func(_, now *plan.Stack) { now.Removed = true }, want: "another operation"},
		"a plan of an older operator":      {change: func(a, now *plan.Stack) { a.Content, now.Content = "", "" }, want: "the program"},
		"a plan that failed":               {change: func(a, _ *plan.Stack) { a.Failed = true }, want: "could not plan"},
		"more, but of an uncounted number": {change: func(a, _ *plan.Stack) { a.More = 0 }, steps: []plan.Step{update("b")}, want: "1 of the changes"},
	} {
		t.Run(name, func(t *testing.T) {
			a, now := approved, plan.Stack{Name: "shop", Content: "c", State: "s"}
			if tc.change != nil {
				tc.change(&a, &now)
			}
			got := approvals.Missing(a, now, tc.steps, tc.unseen)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("missing is %q, want %q", got, tc.want)
			}
			if len(approved.Steps) != 4 || approved.Steps[0].Name != "old" {
				t.Fatal("the comparison has changed the approved plan")
			}
		})
	}
}
