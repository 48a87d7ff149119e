package taken_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/owners/taken"
)

func TestAResourceOfAnotherStackIsRefusedByItsFinalName(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	variable, err := taken.Write(root, []taken.Resource{
		{Type: taken.User, Name: "web_a", Instance: "strata", Owner: "Stack shop"},
		{Type: taken.Database, Name: "web_b", Owner: "Stack shop"},
	})
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(variable, "=")
	t.Setenv(name, value)
	const user = "this is the user web_a of instance strata, and Stack shop owns it: choose another name, or remove it from Stack shop first"
	for name, c := range map[string]struct{ typ, name, instance, want string }{
		"the user":                          {taken.User, "web_a", "strata", user},
		"the user on a linked instance":     {taken.User, "web_a", "projects/p/instances/strata", user},
		"the user in capitals":              {taken.User, "WEB_A", "strata", "this is the user WEB_A of instance strata, and Stack shop owns it: choose another name, or remove it from Stack shop first"},
		"a database on an unknown instance": {taken.Database, "web_b", "other", "this is the database web_b of instance other, and Stack shop owns it: choose another name, or remove it from Stack shop first"},
		"a user with the database's name":   {taken.User, "web_b", "strata", ""},
		"a user of another instance":        {taken.User, "web_a", "other", ""},
		"another user":                      {taken.User, "web_ab", "strata", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := taken.Check(c.typ, c.name, c.instance); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("the error is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestAListThatCannotBeReadRefusesEveryResource(t *testing.T) {
	t.Setenv(taken.Variable, filepath.Join(t.TempDir(), "missing"))
	if taken.Check(taken.User, "web", "strata") == nil {
		t.Error("a user is created without the list")
	}
	t.Setenv(taken.Variable, "")
	if err := taken.Check(taken.User, "web", "strata"); err != nil {
		t.Errorf("without a list: %v", err)
	}
}
