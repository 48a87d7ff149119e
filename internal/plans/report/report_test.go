package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/operator/plan"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func planned(status plan.Status) *plan.Plan {
	return &plan.Plan{
		ObjectMeta: metav1.ObjectMeta{Name: "feature-0123456789", Namespace: "team-web"},
		Spec:       plan.Spec{Branch: "feature/x", Commit: commit},
		Status:     status,
	}
}

// on returns the subject of a Plan that needs no approval.
func on(p *plan.Plan) report.Subject {
	return report.On(p, approvals.State{}, func(words string) string { return "strata " + words })
}

// ready has a Stack of each kind: one that loses data, one that fails, one that the commit removes.
func ready() *plan.Plan {
	return planned(plan.Status{Phase: plan.Failed, Message: "1 of 3 Stacks cannot be planned", Digest: "sha256:00ff", Stacks: []plan.Stack{
		{
			Name: "wordpress-infra", Changes: map[string]int{"create": 1, "update": 1, "replace": 1, "same": 3, "read": 2}, Uncompared: 2, More: 4,
			Steps: []plan.Step{
				{Op: "create", Name: "orders", Type: "gcp:sql/user:User"},
				{Op: "update", Name: "sql-auth", Type: "kubernetes:core/v1:Secret", More: 1, Fields: []plan.Field{
					{Path: "data.port", Before: `"3306"`, After: `"3307"`}, {Path: "data.new", After: `"a|b"`}, {Path: "data.old", Before: "[secret]"},
				}},
				{Op: "replace", Name: "database", Type: "gcp:sql/database:Database", LosesData: true, Fields: []plan.Field{
					{Path: "name", Before: `"web_wordpress"`, After: `"web_blog"`, Replaces: true},
				}},
			},
		},
		{Name: "broken", Failed: true, Message: "program.resources.x: \"servr\" could not be found"},
		{Name: "old", Removed: true, Changes: map[string]int{"delete": 1}, Steps: []plan.Step{
			{Op: "delete", Name: "catalog", Type: "gcp:sql/database:Database", LosesData: true},
		}},
	}})
}

func TestAReportShowsLossesFirst(t *testing.T) {
	for name, got := range map[string]string{
		"markdown.golden": report.Markdown(on(ready())), "text.golden": strings.Join(report.Text(on(ready())), "\n") + "\n",
	} {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Error(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; the report is\n%s", name, got)
		}
	}
}

// TestDeletedOrdersAreTold reports a commit that deletes an order, and whose only Stack has no changes.
func TestDeletedOrdersAreTold(t *testing.T) {
	p := planned(plan.Status{Phase: plan.Ready, Stacks: []plan.Stack{{
		Name: plan.Orders, Message: "their Stacks belong to the platform", Changes: map[string]int{"delete": 1},
		Steps: []plan.Step{{Op: "delete", Name: "shop", Type: "kubernetes:catalogue.strata.dev/v1:Database", LosesData: true}},
	}}})
	text, markdown := strings.Join(report.Text(on(p)), "\n"), report.Markdown(on(p))
	for _, want := range []string{
		"DATA LOSS: the commit deletes shop (kubernetes:catalogue.strata.dev/v1:Database)\n", "\nOrders of the catalogue: 1 delete\n",
		"\n  Note: their Stacks belong to the platform",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in the text\n%s", want, text)
		}
	}
	for _, want := range []string{"> - the commit **deletes** `shop` (`kubernetes:catalogue.strata.dev/v1:Database`)\n", "#### Orders of the catalogue\n"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("there is no %q in the Markdown\n%s", want, markdown)
		}
	}
}

func TestTheStateOfAPlanIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		status plan.Status
		want   string
	}{
		"a new Plan":                {plan.Status{}, "It has no result yet. waits for the operator"},
		"a Plan in work":            {plan.Status{Phase: plan.Running, Message: "waits for a slot"}, "It has no result yet. waits for a slot"},
		"a commit without changes":  {plan.Status{Phase: plan.Ready}, "The commit changes no Stack."},
		"a Plan that failed itself": {plan.Status{Phase: plan.Failed, Message: "no account"}, "The commit cannot be planned. no account"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report.Text(on(planned(tc.status))); len(got) != 2 || got[1] != tc.want {
				t.Errorf("the text is %q", got)
			}
			if got := strings.ReplaceAll(report.Markdown(on(planned(tc.status))), "`", ""); !strings.Contains(got, "\n"+tc.want+"\n") {
				t.Errorf("the Markdown is\n%s", got)
			}
		})
	}
}

func TestAReportSaysWhoApproves(t *testing.T) {
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		stack         string
		state         approvals.State
		title, second string
	}{
		"nobody":                        {"", approvals.State{}, "commit 0123456789 of branch feature/x", ""},
		"somebody, before the merge":    {"", approvals.State{Needed: true}, "commit 0123456789 of branch feature/x", "The operator waits for an approval before it does this: strata approve feature-0123456789 --team web"},
		"somebody, for a waiting Stack": {"shop", approvals.State{Needed: true}, "the next run of Stack shop, commit 0123456789 of branch feature/x", "Stack shop waits for approval: strata approve feature-0123456789 --team web"},
		"somebody who has done it":      {"", approvals.State{Needed: true, By: "ada@example.com", Time: &at}, "commit 0123456789 of branch feature/x", "Approved by ada@example.com on 2026-11-24T03:00:00Z."},
	} {
		t.Run(name, func(t *testing.T) {
			p := planned(plan.Status{Phase: plan.Ready, Stacks: []plan.Stack{{Name: "shop"}}})
			p.Spec.Stack = tc.stack
			subject := on(p)
			subject.Approval = tc.state
			text := report.Text(subject)
			if text[0] != "Plan feature-0123456789: "+tc.title || text[1] != tc.second {
				t.Errorf("the text is %q", text)
			}
			markdown := strings.ReplaceAll(report.Markdown(subject), "`", "")
			if !strings.HasPrefix(markdown, "### Plan of "+strings.Replace(tc.title, " of branch", " on branch", 1)+"\n") || tc.second != "" && !strings.Contains(markdown, "\n"+tc.second+"\n\n") {
				t.Errorf("the Markdown is\n%s", markdown)
			}
		})
	}
}

func TestAListDescribesAPlanInAFewWords(t *testing.T) {
	for want, p := range map[string]*plan.Plan{
		"1 create, 1 update, 1 replace, 1 delete, 1 failed, loses data": ready(),
		"":           planned(plan.Status{Phase: plan.Running}),
		"failed":     planned(plan.Status{Phase: plan.Failed}),
		"no changes": planned(plan.Status{Phase: plan.Ready}),
	} {
		if got := report.Brief(p); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

// attacks are texts that a forge, a log of continuous integration or a terminal would interpret.
var attacks = []string{
	"` @everyone `", "``` ```", "a`b``c", `back\`, `\|`, "a|b|c", "| x | y |", "<img src=x onerror=alert(1)>", "</code><script>", "[link](https://evil.example)",
	"![image](https://evil.example/?q)", "https://evil.example www.evil.example", "<!-- hidden", "-->", "#1 !2 $3 %4 ~5", "@team/owners", "**bold** _it_ ~~no~~",
	"a\nb", "a\r\n::set-output name=x::y", "::stop-commands::x", "##[error]x", "/approve\n/merge", "\x1b[2J\x1b]0;title\x07", "\u202egnp.exe", "a\u2028b",
	"$`math`$", "&lt;b&gt;", "{{ .Secret }} ${{ github.token }}", "> quote", "- [ ] task", "    code", "\x00\xff", strings.Repeat("é", 5000), "",
}

var (
	// span matches the code spans of a line.
	span = regexp.MustCompile("`[^`]+`")
	// ours matches what remains of a line of Markdown without its code spans.
	ours = regexp.MustCompile(`^[A-Za-z0-9 |*#:.,>?()!\[\]-]*$`)
)

func TestHostileTextsStayTexts(t *testing.T) {
	for i, attack := range attacks {
		p := planned(plan.Status{Phase: plan.Failed, Message: attack, Digest: attack, Stacks: []plan.Stack{{
			Name: attack, Message: attack, Failed: i%2 == 0, Changes: map[string]int{attack: 1, "create": 1}, Steps: []plan.Step{
				{Op: attack, Name: attack, Type: attack, LosesData: true, Fields: []plan.Field{{Path: attack, Before: attack, After: attack, Replaces: true}}},
				{Op: "delete", Name: attack, Type: attack},
			},
		}}})
		p.Name, p.Spec.Branch, p.Spec.Commit, p.Spec.Stack = attack, attack, attack, attack
		subject := on(p)
		subject.Approval = approvals.State{Needed: true}
		if i%3 == 0 {
			subject.Approval.By, subject.Approval.Time = attack, new(time.Now())
		}
		t.Run(fmt.Sprintf("%q", attack[:min(len(attack), 20)]), func(t *testing.T) {
			text := report.Markdown(subject)
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				rest := span.ReplaceAllString(line, "")
				if !ours.MatchString(rest) {
					t.Errorf("this is not in a code span: %q of line %q", rest, line)
				}
				if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 7 {
					t.Errorf("the row has other cells: %q", line)
				}
				for _, r := range line {
					if r < ' ' || r == 0x7f || r == '\u202e' || r == '\u2028' {
						t.Errorf("line %q contains %q", line, r)
					}
				}
			}
			for _, line := range report.Text(subject) {
				if strings.ContainsAny(line, "\x00\x07\x1b\r\n\u202e\u2028") || strings.HasPrefix(line, "::") {
					t.Errorf("line %q", line)
				}
			}
		})
	}
}

func TestALargeReportFitsIntoAComment(t *testing.T) {
	value := `"` + strings.Repeat("x", 500) + `"`
	var stacks []plan.Stack
	for i := range 50 {
		stack := plan.Stack{Name: fmt.Sprintf("stack-%02d-%s", i, strings.Repeat("s", 200)), Message: value}
		for n := range 100 {
			stack.Steps = append(stack.Steps, plan.Step{Op: "delete", Name: fmt.Sprint("step", n, value), Type: value, LosesData: true, Fields: []plan.Field{{Path: value, Before: value, After: value}}})
		}
		stacks = append(stacks, stack)
	}
	text := report.Markdown(on(planned(plan.Status{Phase: plan.Ready, Stacks: stacks})))
	if len([]rune(text)) > 65_000 || !strings.Contains(text, "and 49 more Stacks, with 4975 changes of resources, do not fit into a comment") || !strings.Contains(text, "5000 resources with data are deleted or replaced") ||
		!strings.Contains(text, "stack-49") {
		t.Errorf("%d bytes: %.3000s … %s", len(text), text, text[len(text)-300:])
	}
	one := on(planned(plan.Status{Phase: plan.Ready, Stacks: stacks}))
	if text := report.Markdown(one, one); len([]rune(text)) > 65_000 || strings.Count(text, "### Plan of commit") != 2 {
		t.Errorf("two have %d characters", len([]rune(text)))
	}
}

// TestACommentNamesEveryLoss hides deletions of databases behind harmless changes, and in the last Stack of many.
func TestACommentNamesEveryLoss(t *testing.T) {
	long := strings.Repeat("x", 500)
	var stacks []plan.Stack
	const all, each = 40, 3
	for i := range all {
		stack := plan.Stack{Name: fmt.Sprintf("stack-%02d", i)}
		for n := range 97 {
			stack.Steps = append(stack.Steps, plan.Step{Op: "update", Name: fmt.Sprint("u", n), Type: "t", Fields: []plan.Field{{Path: long, Before: long, After: long}}})
		}
		for n := range each {
			stack.Steps = append(stack.Steps, plan.Step{Op: "delete", Name: fmt.Sprintf("database-%d-%d", i, n), Type: "gcp:sql/database:Database", LosesData: true})
		}
		stacks = append(stacks, stack)
	}
	text := report.Markdown(on(planned(plan.Status{Phase: plan.Ready, Stacks: stacks})))
	for i := range all {
		for n := range each {
			if want := fmt.Sprintf("> - Stack `stack-%02d` **deletes** `database-%d-%d` ", i, i, n); !strings.Contains(text, want) {
				t.Errorf("the comment does not contain %q", want)
			}
		}
	}
	// Whoever reads the comment can count what it leaves out.
	shown, cut := strings.Count(text, "\n| update |")+strings.Count(text, "\n| **delete, loses data** |"), 0
	if _, rest, ok := strings.Cut(text, " more Stacks, with "); ok {
		_, _ = fmt.Sscanf(rest, "%d", &cut)
	}
	if cut == 0 || shown+cut != all*100 {
		t.Errorf("the comment shows %d changes and leaves out %d of %d", shown, cut, all*100)
	}
	if len(text) > 65_000 {
		t.Errorf("the comment has %d bytes", len(text))
	}

	// More losses than any comment holds are counted.
	for i := range stacks {
		for n := range stacks[i].Steps {
			stacks[i].Steps[n].LosesData, stacks[i].Steps[n].Op = true, "replace"
		}
	}
	text = report.Markdown(on(planned(plan.Status{Phase: plan.Ready, Stacks: stacks})))
	named, more := strings.Count(text, "\n> - Stack "), 0
	if _, rest, ok := strings.Cut(text, "\n> - **and "); ok {
		_, _ = fmt.Sscanf(rest, "%d more that lose data", &more)
	}
	if named < 200 || named+more != all*100 {
		t.Errorf("the comment names %d losses and counts %d more, of %d", named, more, all*100)
	}
}
