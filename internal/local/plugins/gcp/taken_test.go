package gcp_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/operator/engine/owners/taken"
)

func TestADatabaseOrUserOfAnotherStackIsNotCreated(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	variable, err := taken.Write(root, []taken.Resource{
		{Type: taken.User, Name: "web_a", Instance: "strata", Owner: "Stack shop"}, {Type: taken.Database, Name: "web_a", Instance: "strata", Owner: "Stack shop"},
	})
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(variable, "=")
	t.Setenv(name, value)
	for typ, word := range map[string]string{userType: "user", databaseType: "database"} {
		want := "this is the " + word + " web_a of instance strata, and Stack shop owns it: choose another name, or remove it from Stack shop first"
		if _, err := pl.try(typ, props("name", "web_a", "instance", "strata")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", typ, err, want)
		}
		// Another name reaches the cloud, which has no such instance.
		if _, err := pl.try(typ, props("name", "web_b", "instance", "strata")); err == nil || strings.Contains(err.Error(), "owns it") {
			t.Errorf("another %s: %v", word, err)
		}
	}
}
