package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/workloads"
)

func TestUpPrintsLayersAndCommandsWithoutControlCharacters(t *testing.T) {
	var out strings.Builder
	blog := forward.Target{Kind: forward.KindService, Namespace: "team-web", Name: "blog"}
	Up(&out, []string{"1 bootstrap  cluster \x1b[31mstrata"}, []string{"strata status", "kubectl get pods"}, workloads.List{
		Pages:     []forward.Result{{URL: "http://127.7.3.9:8080/", Target: blog}},
		Simulated: []workloads.Pod{{Namespace: "team-web", Name: "shop", Reason: "\x1b[31mno network"}},
	})
	want := "\nLayers\n  1 bootstrap  cluster \\x1b[31mstrata\n\nSimulated pods, which do not run\n  team-web/shop: \\x1b[31mno network\n" +
		"\nTry next\n  strata status\n  kubectl get pods\n\nPages\n  http://127.7.3.9:8080/ leads to service/blog in namespace team-web\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestJSONKeepsTheNamesOfTypesReadable(t *testing.T) {
	var out strings.Builder
	if err := JSON(&out, map[string]string{"type": "List<Number> & \x1b[31m"}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"type\": \"List<Number> & \\u001b[31m\"\n}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"many lines":  strings.Repeat("line\n", 10*mostErrorLines),
		"a long line": strings.Repeat("x", 10*longestErrorLine),
	} {
		t.Run(name, func(t *testing.T) {
			got := Error(errors.New(text))
			// A last line counts the omitted lines.
			if lines := strings.Split(got, "\n"); len(lines) > mostErrorLines+1 || len([]rune(lines[0])) > longestErrorLine {
				t.Errorf("%d lines, the first of %d characters", len(lines), len([]rune(lines[0])))
			}
		})
	}
	if got := Error(errors.New("a\x1b[2J\nb")); got != "a\\x1b[2J\nb" {
		t.Errorf("the escaped error is %q", got)
	}
}
