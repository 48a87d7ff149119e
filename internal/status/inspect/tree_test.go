package inspect

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

const green, red, plain = "\x1b[32m", "\x1b[31m", "\x1b[0m"

func printed(r status.Report, style status.Style) string {
	var out bytes.Buffer
	r.Print(&out, style)
	return out.String()
}

func TestAHealthyPlatformFitsOnAScreen(t *testing.T) {
	report := reportOf(t, nil)
	if cause, found := report.RootCause(); found {
		t.Fatalf("it is not ready: %s", cause)
	}
	text := printed(report, status.Style{})
	const screen = 24
	if lines := strings.Count(text, "\n"); lines > screen {
		t.Errorf("it takes %d lines", lines)
	}
	for _, want := range []string{
		"1 bootstrap  as ada\n└─ ✓ Cluster ",
		"├─ ✓ Deployment      flux-system/source-controller               1 pod (process)\n",
		"├─ ✓ Stack           team-web/wordpress-infra                    database=wordpress, host=",
		"└─ ✓ Deployment      team-web/wordpress                          1 pod (simulated)\n\neverything is ready\n",
		"4 web        as team-web/web\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	for _, not := range []string{"Secret", "RoleBinding", "ReplicaSet", " Pod ", "\x1b"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in:\n%s", not, text)
		}
	}
}

func TestALayerThatNeverRanIsOneLine(t *testing.T) {
	call := func(words string) string { return "strata " + words + " --target gke" }
	scope := graph.Scope{Teams: []teams.Team{web}, Call: call, Below: []status.Item{{Layer: status.LayerBootstrap, Kind: "Cluster", Name: "strata", Ready: true}}}
	want := "not ready: Layer platform: NotCreated: layer 2 has never run on this cluster: the platform team: run `strata up --target gke`\n"
	if text := printed(reportOn(&snapshot.Snapshot{}, scope), status.Style{}); !strings.HasSuffix(text, want) || strings.Count(text, "✗") != 1 {
		t.Errorf("got:\n%s", text)
	}
}

func TestAPodThatIsNotReadyFollowsItsDeployment(t *testing.T) {
	const pod = "wordpress-58c9597874-5sctm"
	text := printed(reportOf(t, nil, says("Pod", "team-web", pod, "Ready", "False", "ContainersNotReady", "wait")), status.Style{})
	if !strings.Contains(text, "✓ Deployment      team-web/wordpress ") || !strings.Contains(text, "1 pod (simulated)\n│    ✗ Pod ") {
		t.Errorf("got:\n%s", text)
	}
}

func TestADriftedStackIsReadyAndMarked(t *testing.T) {
	text := printed(reportOf(t, nil, says("Stack", "team-web", "wordpress-infra", "Drifted", "True", "DriftFound", "database: charset is latin1")), status.Style{})
	if !regexp.MustCompile(`✓ Stack +team-web/wordpress-infra +drifted`).MatchString(text) || !strings.Contains(text, "everything is ready") {
		t.Errorf("got:\n%s", text)
	}
}

func TestOnATerminalLinesAreCutAndColored(t *testing.T) {
	report := reportOf(t, nil, says("Stack", "team-web", "wordpress-infra", "Ready", "False", "UpdateFailed", strings.Repeat("long ", 60)))
	lines := strings.Split(printed(report, status.Style{Width: 80, Color: true}), "\n")
	for _, line := range lines {
		for _, code := range []string{green, red, plain} {
			line = strings.ReplaceAll(line, code, "")
		}
		if len([]rune(line)) > 80 && !strings.HasPrefix(line, "not ready: ") {
			t.Errorf("%q is too long", line)
		}
	}
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.Contains(l, red+"✗"+plain+" Stack") && strings.HasSuffix(l, "…")
	}) {
		t.Errorf("no line is red and cut:\n%s", strings.Join(lines, "\n"))
	}
	if cause := lines[len(lines)-2]; !strings.HasPrefix(cause, red+"not ready: "+plain+"Stack team-web/wordpress-infra: UpdateFailed: long long") || strings.HasSuffix(cause, "…") {
		t.Errorf("the root cause is not whole: %q", cause)
	}
}

// The JSON form is a contract: fields must neither change nor disappear.
func TestJSONForm(t *testing.T) {
	raw, err := json.Marshal(reportOf(t, nil, gone("Secret", "team-web", "strata-context")))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Ready *bool            `json:"ready"`
		Items []map[string]any `json:"items"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&report); err != nil {
		t.Fatal(err)
	}
	if report.Ready == nil || *report.Ready {
		t.Error("the report is ready")
	}
	fields := []string{"kind", "layer", "message", "name", "namespace", "ready", "reason", "rootCause", "runtime"}
	causes := 0
	for _, item := range report.Items {
		if got := slices.Sorted(maps.Keys(item)); !slices.Equal(got, fields) {
			t.Errorf("an item has %v, want %v", got, fields)
		}
		if item["rootCause"] == true {
			causes++
		}
		if message, _ := item["message"].(string); strings.Contains(message, "\n") {
			t.Errorf("a message has several lines: %q", message)
		}
	}
	if causes != 1 {
		t.Errorf("%d items are the root cause", causes)
	}
}

func TestChanges(t *testing.T) {
	before := reportOf(t, nil)
	after := reportOf(t, nil, gone("Secret", "team-web", "strata-context"), func(_ *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		delete(objects, snapshot.NewKey("Pod", "team-web", "wordpress-58c9597874-5sctm"))
	})
	if lines := before.Changes(before); len(lines) != 0 {
		t.Errorf("equal reports differ by %q", lines)
	}
	missing := "Secret team-web/strata-context: Missing: layer 2 creates it, and it does not exist: the platform team: run `strata up`"
	want := []string{"✗ " + missing, "- Pod team-web/wordpress-58c9597874-5sctm", "not ready: " + strings.Replace(missing, ":", " (layer platform):", 1)}
	if lines := after.Changes(before); !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	want = []string{"✓ Secret team-web/strata-context", "✓ Pod team-web/wordpress-58c9597874-5sctm", "everything is ready"}
	if lines := before.Changes(after); !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}
