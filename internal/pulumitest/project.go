package pulumitest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"

	"github.com/strata-platform/strata/internal/settings"
)

// CheckProjectFile fails the test if the Pulumi.yaml at path and the struct declare different settings.
func CheckProjectFile(t testing.TB, path, name string, config any) {
	t.Helper()
	project, err := workspace.LoadProject(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(project.Name) != name {
		t.Errorf("%s is project %s, want %s", path, project.Name, name)
	}
	declared := settings.Declarations(config)
	if len(project.Config) != len(declared) {
		t.Errorf("%s declares %d settings, the program %d", path, len(project.Config), len(declared))
	}
	for _, want := range declared {
		got, found := project.Config[want.Key]
		if !found {
			t.Errorf("%s does not declare %s", path, want.Key)
			continue
		}
		if got.TypeName() != want.Type {
			t.Errorf("%s says that %s is of type %s, the program %s", path, want.Key, got.TypeName(), want.Type)
		}
		// The engine stores a default as a value in plain text: a setting that is declared secret could then never be
		// omitted. The program itself refuses plain text.
		if secret := want.Secret && want.Required; got.Secret != secret {
			t.Errorf("%s says that %s is secret: %v, want %v", path, want.Key, got.Secret, secret)
		}
		if got.Description == "" {
			t.Errorf("%s does not describe %s", path, want.Key)
		}
		if required := got.Default == nil; required != want.Required {
			t.Errorf("%s says that %s is required: %v, the program %v", path, want.Key, required, want.Required)
		} else if text := defaultText(t, got.Default); text != want.Default && !want.Required {
			t.Errorf("%s says that %s is %s by default, the program %s", path, want.Key, text, want.Default)
		}
	}
}

// defaultText returns a default in the form in which the engine passes it to the program; an empty object means no value.
func defaultText(t testing.TB, value any) string {
	t.Helper()
	switch value := value.(type) {
	case nil:
		return ""
	case string, bool, int, float64:
		return fmt.Sprint(value)
	default:
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) == "{}" {
			return ""
		}
		return string(text)
	}
}
