package gke_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/container"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/test/docstest"
)

// settings returns the rows of the tables in docs/reference/gke.md: resource and path, default, argument, change.
func settings(t *testing.T) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(docstest.Read(t, "docs/reference/gke.md")) {
		if !strings.HasPrefix(line, "| `cluster.") && !strings.HasPrefix(line, "| `nodes.") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if len(cells) != 5 {
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// leaves adds the values of properties that are no objects to all, by their paths.
func leaves(all map[string]string, path string, value resource.PropertyValue) {
	if value.IsObject() && len(value.ObjectValue()) > 0 {
		for key, inner := range value.ObjectValue() {
			leaves(all, path+"."+string(key), inner)
		}
		return
	}
	text, _ := json.Marshal(value.Mappable())
	all[path] = string(text)
}

func TestTheReferenceListsEverySettingWithItsDefault(t *testing.T) {
	engine := serving("203.0.113.7", "", "")
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	leaves(made, "cluster", resource.NewProperty(engine.Get(t, clusterType, "strata-cluster").Inputs))
	leaves(made, "nodes", resource.NewProperty(engine.Get(t, poolType, "strata-nodes").Inputs))
	rows := settings(t)
	for path, value := range made {
		switch row, found := rows[path]; {
		case slices.Contains([]string{"name", "project", "location", "cluster", "nodeCount"}, path[strings.LastIndex(path, ".")+1:]):
		case strings.HasPrefix(path, "cluster.nodeConfig."): // of the initial pool
		case !found:
			t.Errorf("docs/reference/gke.md has no row for %s, which is %s", path, value)
		case row[0] != value:
			t.Errorf("docs/reference/gke.md says that %s is %s; it is %s", path, row[0], value)
		}
	}
	for path, row := range rows {
		if _, found := made[path]; !found && row[0] != "not set" {
			t.Errorf("docs/reference/gke.md says that %s is %s; it is not set", path, row[0])
		}
	}
}

func TestEverySettingThatIsNotSetHasAnArgument(t *testing.T) {
	engine := serving("203.0.113.7", "", "")
	args := given()
	reviewed(args)
	args.Private, args.Network, args.Subnetwork = &gke.Private{}, pulumi.String("core"), pulumi.String("core-gke")
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	known := []string{""}
	for field := range reflect.TypeFor[gke.ClusterArgs]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		known = append(known, name)
	}
	for path, row := range settings(t) {
		if !slices.Contains(known, row[1]) {
			t.Errorf("%s names the argument %q, which does not exist", path, row[1])
		}
		if inner, ok := strings.CutPrefix(path, "cluster."); ok && row[0] == "not set" {
			pulumitest.Plain(t, engine.Get(t, clusterType, "strata-cluster").Inputs, inner)
		}
	}
}

// TestTheReferenceSaysWhatReplaces compares the column with the rules of the provider, which the local plugin has.
func TestTheReferenceSaysWhatReplaces(t *testing.T) {
	of := map[string]rules.ByPath{"cluster": container.Cluster(nil).Rules, "nodes": container.NodePool(nil).Rules}
	rows := settings(t)
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		part, inner, _ := strings.Cut(path, ".")
		want := "in place"
		if of[part][strings.ReplaceAll(inner, "[0]", "")].Replace {
			want = "replaces"
		}
		if got := rows[path][2]; got != want {
			t.Errorf("docs/reference/gke.md says that a change of %s is %q, want %q", path, got, want)
		}
	}
	if len(rows) < 30 {
		t.Errorf("docs/reference/gke.md has %d rows", len(rows))
	}
}
