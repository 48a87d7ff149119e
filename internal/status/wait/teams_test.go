package wait

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/sync"
)

func TestAWaitForThePlatformOrForAll(t *testing.T) {
	item := func(layer, kind, reason string) status.Item {
		return status.Item{Layer: layer, Kind: kind, Name: "x", Ready: reason == "", Reason: reason}
	}
	cluster, operator := item(status.LayerBootstrap, "Cluster", ""), item(status.LayerSync, "Deployment", "")
	stack, missing := item(status.LayerTeam, "Stack", "UpdateFailed"), item(status.LayerTeam, status.KindTeam, status.ReasonNotCreated)
	source := item(status.LayerTeam, "GitRepository", "GitOperationFailed")
	waits, done := item(status.LayerSync, "Deployment", "InProgress"), item(status.LayerTeam, "Stack", "")
	const all, platform = All, Platform
	for name, tc := range map[string]struct {
		what    For
		reports [][]status.Item // the last one repeats
		want    string          // the beginning of the error
		teams   bool
	}{
		"everything is ready":                        {all, [][]status.Item{{cluster, waits, stack}, {cluster, operator, done}}, "", false},
		"a team's mistake":                           {all, [][]status.Item{{cluster, operator, stack}}, "the platform is ready, but a team is not: Stack x: UpdateFailed (all causes: `strata status`)", true},
		"a team's mistake while the platform starts": {all, [][]status.Item{{cluster, waits, stack}, {cluster, operator, stack}}, "the platform is ready, but a team is not: Stack x", true},
		"a team's source":                            {all, [][]status.Item{{cluster, operator, source}}, "the platform is ready, but a team is not: GitRepository x", true},
		"the platform alone, with a team's mistake":  {platform, [][]status.Item{{cluster, waits, stack}, {cluster, operator, stack}}, "", false},
		"a platform that does not start":             {all, [][]status.Item{{cluster, waits, stack}}, "the platform is not ready after 300ms: Deployment x: InProgress", false},
		"the same, alone":                            {platform, [][]status.Item{{cluster, waits, stack}}, "the platform is not ready after 300ms: Deployment x: InProgress", false},
		"a team that the platform does not have yet": {platform, [][]status.Item{{cluster, operator, missing}}, "the platform is not ready after 300ms: Team x: NotCreated", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0
			look := func(context.Context) (status.Report, error) {
				items := tc.reports[min(looks, len(tc.reports)-1)]
				looks++
				return status.NewReport(append([]status.Item{}, items...)), nil
			}
			w := Wait{
				Look: look, Sure: look, Config: func(context.Context) (*rest.Config, error) { return nil, nil },
				Limit: 300 * time.Millisecond, Every: time.Millisecond, Call: "strata status",
			}
			report, err := w.Until(t.Context(), tc.what, func(status.Item) {})
			var teams *TeamsError
			if errors.As(err, &teams) != tc.teams || (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %s", err, tc.want)
			}
			if len(report.Items) != 3 {
				t.Errorf("the report has %d items: %+v", len(report.Items), report.Items)
			}
		})
	}
}

// TestAWaitForAPartIgnoresWhatComesAfterIt breaks one item after the other.
func TestAWaitForAPartIgnoresWhatComesAfterIt(t *testing.T) {
	items := []status.Item{
		{Layer: status.LayerBootstrap, Kind: "Cluster", Name: "strata"},
		{Layer: status.LayerPlatform, Kind: "ClusterRole", Name: "strata:platform"},
		{Layer: status.LayerPlatform, Kind: "Deployment", Namespace: "flux-system", Name: "source-controller"},
		{Layer: status.LayerPlatform, Kind: "GitRepository", Namespace: "platform", Name: "platform"},
		{Layer: status.LayerPlatform, Kind: "Kustomization", Namespace: "platform", Name: "platform"},
		{Layer: status.LayerSync, Kind: "Kustomization", Namespace: "platform", Name: "policies"},
		{Layer: status.LayerSync, Kind: "GitRepository", Namespace: "platform", Name: "pulumi-operator"},
		{Layer: status.LayerSync, Kind: "Kustomization", Namespace: "platform", Name: "operator-crds"},
		{Layer: status.LayerSync, Kind: "Kustomization", Namespace: "platform", Name: "operator"},
		{Layer: status.LayerSync, Kind: "Deployment", Namespace: "pulumi-kubernetes-operator", Name: "pulumi-operator"},
		{Layer: status.LayerSync, Kind: "Kustomization", Namespace: "platform", Name: "organisation"},
		{Layer: status.LayerTeam, Kind: "Stack", Namespace: "team-web", Name: "shop"},
	}
	for i := range items {
		items[i].Ready = true
	}
	// The number of items, from the first, that a wait is for.
	for what, want := range map[For]int{Bootstrap: 1, Objects: 2, Flux: 5, Kinds: 8, Platform: 11} {
		for broken := range items {
			list := slices.Clone(items)
			list[broken].Ready, list[broken].Reason = false, "Failed"
			report := what.part(status.NewReport(list))
			if report.Ready != (broken >= want) || len(report.Items) != want {
				t.Errorf("a wait for %s has %d items, and is ready without %s: %t", what, len(report.Items), items[broken].Ref(), report.Ready)
			}
			if cause, found := report.RootCause(); found != (broken < want) || found && cause.Ref() != items[broken].Ref() {
				t.Errorf("a wait for %s without %s has the cause %s", what, items[broken].Ref(), cause)
			}
		}
	}
}

// TestTheObjectsBeforeTheOperatorAreThoseOfLayer3 compares them with the entry points.
func TestTheObjectsBeforeTheOperatorAreThoseOfLayer3(t *testing.T) {
	found := map[string]bool{}
	err := fs.WalkDir(sync.Files, "clusters", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		content, err := fs.ReadFile(sync.Files, path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				return err
			}
			if object.Metadata.Name != "" && object.Metadata.Name != "operator" {
				found[object.Kind+" "+object.Metadata.Namespace+"/"+object.Metadata.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range beforeOperator {
		if !found[each] {
			t.Errorf("layer 3 has no %s", each)
		}
		delete(found, each)
	}
	for each := range found {
		t.Errorf("layer 3 has also %s", each)
	}
}
