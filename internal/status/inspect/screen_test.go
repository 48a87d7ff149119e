package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/health"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

// manyStacks adds count Stacks to team web that fail with a message, and have hostile outputs.
func manyStacks(count int, message string) change {
	return func(t *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		t.Helper()
		for i := range count {
			name := fmt.Sprintf("stack-%03d", i)
			set("Stack", "team-web", name, map[string]any{"missing": map[string]any{"type": "Secret", "secret": map[string]any{"name": "none-" + name}}}, "spec", "envRefs")(t, objects)
			set("Stack", "team-web", name, map[string]any{"name": "program-" + name}, "spec", "programRef")(t, objects)
			set("Program", "team-web", "program-"+name, map[string]any{}, "program", "resources")(t, objects)
			says("Stack", "team-web", name, "Ready", "False", "UpdateFailed", message)(t, objects)
		}
	}
}

const hostile = "\x1b[2J\x1b]0;title\x07\u202eready\u2066 \u009b31m\r\nnot ready: everything is ready\u2028\x00"

func checkScreen(t *testing.T, text string, lines int) {
	t.Helper()
	if got := strings.Count(text, "\n"); got > lines {
		t.Errorf("%d lines are printed, want at most %d:\n%s", got, lines, text)
	}
	for line := range strings.Lines(text) {
		if got := len([]rune(line)); got > 1000 {
			t.Errorf("a line has %d characters: %.100q", got, line)
		}
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q contains %U", line, r)
			}
		}
		if strings.HasPrefix(line, "everything is ready") {
			t.Error("a line of output is text of a team")
		}
	}
}

func TestTextsOfATeamFitTheScreenAndAreEscaped(t *testing.T) {
	message := strings.Repeat(hostile, 1<<10) + "the end"
	outputs := map[string]any{}
	for i := range 1000 {
		outputs[fmt.Sprintf("%s%d", hostile, i)] = message
	}
	report := reportOf(t, nil, manyStacks(100, message),
		set("Stack", "team-web", "wordpress-infra", outputs, "status", "outputs"),
		set("Pod", "team-web", "wordpress-58c9597874-5sctm", message, "metadata", "annotations", snapshot.AnnotationRuntime),
		set("GitRepository", "team-web", "web", hostile+message, "status", "artifact", "revision"))
	for _, height := range []int{0, 24, 12} {
		text := printed(report, status.Style{Height: height})
		checkScreen(t, text, cmp.Or(height, 60))
		for _, want := range []string{"(strata status -o json)", "not ready: ", "2 platform"} {
			if height != 12 && !strings.Contains(text, want) {
				t.Errorf("at height %d %q is missing in:\n%s", height, want, text)
			}
		}
	}
	changes := report.Changes(reportOf(t, nil))
	if len(changes) > 20+2 || !slices.ContainsFunc(changes, func(line string) bool { return strings.HasPrefix(line, "… and ") }) {
		t.Errorf("%d changes are printed", len(changes))
	}
	checkScreen(t, strings.Join(changes, "\n")+"\n", 20+2)
	raw, err := json.Marshal(report)
	var whole status.Report
	if err != nil || json.Unmarshal(raw, &whole) != nil || len(whole.Items) != len(report.Items) {
		t.Errorf("the JSON is incomplete (%v)", err)
	}
	if i := slices.IndexFunc(whole.Items, func(i status.Item) bool { return i.Name == "stack-099" }); i < 0 || !strings.Contains(whole.Items[i].Message, "the end") {
		t.Error("the JSON truncates a message")
	}
}

func TestUnreadyItemsAreOmittedLast(t *testing.T) {
	list := []teams.Team{web}
	for i := range 40 {
		list = append(list, teams.Team{Name: fmt.Sprintf("idle-%02d", i), Branch: "main", Path: "./"})
	}
	s := snapshotOf(t, nil, says("Stack", "team-web", "wordpress-infra", "Ready", "False", "UpdateFailed", "it fails"), func(t *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		t.Helper()
		for _, team := range list[1:] {
			for _, k := range graph.HopOf(team) {
				if objects[k] == nil {
					put(objects, k)
				}
			}
		}
	})
	scope := scopeOfAda
	scope.Teams = slices.Concat(list[1:], []teams.Team{web})
	g := graph.New(s, scope)
	health.Assess(g)
	for _, o := range g.Objects {
		if strings.HasPrefix(o.Namespace, "team-idle") {
			o.Ready = true
		}
	}
	text := printed(report(g), status.Style{Height: 30})
	checkScreen(t, text, 30)
	for _, want := range []string{"✗ Stack           team-web/wordpress-infra", "1 bootstrap", "3 sync", " layers and teams (strata status -o json)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestTrimKeepsAllPartsThatAReportNeeds(t *testing.T) {
	before := reportOf(t, nil)
	after := reportOf(t, nil, func(_ *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		for _, o := range objects {
			snapshot.Trim(o)
		}
	})
	if a, b := printed(before, status.Style{}), printed(after, status.Style{}); a != b {
		t.Errorf("trimmed objects are reported as\n%s\nwant\n%s", b, a)
	}
}

func BenchmarkReportOf500Stacks(b *testing.B) {
	t := &testing.T{}
	objects := healthy(t)
	manyStacks(500, "it fails: "+strings.Repeat("a reason ", 100))(t, objects)
	for b.Loop() {
		if reportOn(snapshotWith(objects, nil), scopeOfAda).Ready {
			b.Fatal("nothing fails")
		}
	}
}
