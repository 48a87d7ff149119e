package plan

import (
	"slices"
	"testing"
)

func TestAStepLosesData(t *testing.T) {
	for name, c := range map[string]struct {
		op, of string
		want   bool
	}{
		"a deleted database":            {"delete", "gcp:sql/database:Database", true},
		"a replaced instance":           {"replace", "gcp:sql/databaseInstance:DatabaseInstance", true},
		"a deleted bucket":              {"delete", "gcp:storage/bucket:Bucket", true},
		"a deleted claim":               {"delete", "kubernetes:core/v1:PersistentVolumeClaim", true},
		"a deleted namespace":           {"delete", "kubernetes:core/v1:Namespace", true},
		"a deleted order":               {"delete", "kubernetes:catalogue.strata.dev/v1:Database", true},
		"a deleted cluster":             {"delete", "gcp:container/cluster:Cluster", true},
		"a deleted backup":              {"delete", "gcp:alloydb/backup:Backup", true},
		"a changed database":            {"update", "gcp:sql/database:Database", false},
		"a new database":                {"create", "gcp:sql/database:Database", false},
		"a deleted user":                {"delete", "gcp:sql/user:User", false},
		"a deleted StatefulSet":         {"delete", "kubernetes:apps/v1:StatefulSet", false},
		"a deleted ConfigMap":           {"delete", "kubernetes:core/v1:ConfigMap", false},
		"a component of the platform's": {"delete", "strata:index:Database", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LosesData(c.op, c.of); got != c.want {
				t.Errorf("%s of %s loses data: %t, want %t", c.op, c.of, got, c.want)
			}
		})
	}
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	p := &Plan{Spec: Spec{Branch: "new", Commit: "0123", Account: "web", Manifests: "a: b\n"}, Status: Status{Phase: Ready, Stacks: []Stack{{
		Name: "shop", Changes: map[string]int{"create": 1}, Steps: []Step{{Op: "create", Name: "a", Type: "b:c:D", Fields: []Field{{Path: "e", After: `"f"`}}}},
	}}}}
	p.Namespace, p.Name = "team-web", "new-0123"
	object, err := p.Object()
	if err != nil {
		t.Fatal(err)
	}
	read, err := From(object)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := read.Object(); !slices.Equal([]string{again.GetKind(), again.GetAPIVersion(), read.Status.Stacks[0].Steps[0].Fields[0].After, read.Spec.Branch}, []string{Kind, "strata.dev/v1", `"f"`, "new"}) {
		t.Errorf("read %+v", read)
	}
}

func TestStepsAreOrderedByWhatTheyMayDestroy(t *testing.T) {
	const database, configMap = "gcp:sql/database:Database", "kubernetes:core/v1:ConfigMap"
	want := []Step{
		{Op: "delete", Name: "a", Type: database, LosesData: true},
		{Op: "replace", Name: "a", Type: database, LosesData: true},
		{Op: "delete", Name: "b", Type: configMap},
		{Op: "replace", Name: "a", Type: configMap},
		{Op: "create", Name: "a", Type: database},
		{Op: "create", Name: "b", Type: database},
		{Op: "create", Name: "a", Type: configMap},
		{Op: "update", Name: "a", Type: database},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareSteps)
	for i, step := range got {
		if step.Op != want[i].Op || step.Name != want[i].Name || step.Type != want[i].Type {
			t.Fatalf("step %d is %+v, want %+v", i, step, want[i])
		}
	}
}
