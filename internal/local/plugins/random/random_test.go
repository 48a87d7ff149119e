package random_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"golang.org/x/crypto/bcrypt"

	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
	"github.com/strata-platform/strata/internal/local/plugins/random"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func urn(kind string) resource.URN {
	token := "random:index/random" + kind + ":Random" + kind
	return resource.NewURN("dev", "test", "", tokens.Type(token), "it")
}

func props(t *testing.T, text string) property.Map {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	properties, err := codec.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return properties
}

// create checks inputs and creates a value. If the check fails, it returns the first failure instead.
func create(t *testing.T, kind, inputs string) (id string, state property.Map, refusal string) {
	t.Helper()
	pr := random.Package().Provider()
	checked, err := pr.Check(t.Context(), p.CheckRequest{Urn: urn(kind), Inputs: props(t, inputs)})
	if err != nil {
		t.Fatal(err)
	}
	if len(checked.Failures) > 0 {
		return "", property.Map{}, checked.Failures[0].Property + ": " + checked.Failures[0].Reason
	}
	resp, err := pr.Create(t.Context(), p.CreateRequest{Urn: urn(kind), Properties: checked.Inputs})
	if err != nil {
		return "", property.Map{}, err.Error()
	}
	return resp.ID, resp.Properties, ""
}

func count(s, letters string) int {
	n := 0
	for _, c := range s {
		if strings.ContainsRune(letters, c) {
			n++
		}
	}
	return n
}

func TestTextMeetsItsConstraints(t *testing.T) {
	for name, tc := range map[string]struct {
		inputs string
		holds  func(string) bool
	}{
		"length":            {`{"length": 40}`, func(s string) bool { return len(s) == 40 }},
		"no specials":       {`{"length": 200, "special": false}`, func(s string) bool { return count(s, "!@#$%&*()-_=+[]{}<>:?") == 0 }},
		"only digits":       {`{"length": 50, "special": false, "upper": false, "lower": false}`, func(s string) bool { return count(s, "0123456789") == 50 }},
		"number is numeric": {`{"length": 200, "number": false}`, func(s string) bool { return count(s, "0123456789") == 0 }},
		"own specials":      {`{"length": 9, "overrideSpecial": "~", "upper": false, "lower": false, "numeric": false}`, func(s string) bool { return s == "~~~~~~~~~" }},
		"minimums": {`{"length": 8, "minUpper": 2, "minLower": 2, "minNumeric": 2, "minSpecial": 2}`, func(s string) bool {
			return count(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 2 && count(s, "0123456789") == 2 && count(s, "abcdefghijklmnopqrstuvwxyz") == 2
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"Password", "String"} {
				_, state, refusal := create(t, kind, tc.inputs)
				if refusal != "" || !tc.holds(state.Get("result").AsString()) {
					t.Errorf("%s of %s is %q, %s", kind, tc.inputs, state.Get("result").AsString(), refusal)
				}
			}
		})
	}
}

func TestInvalidTextsAreRejected(t *testing.T) {
	for inputs, want := range map[string]string{
		`{}`: `length: missing required property "length"`,
		`{"length": 3, "minUpper": 2, "minLower": 2}`:                                       "length: length must be at least the sum of the minimums, 4, not 3",
		`{"length": 3, "minUpper": -1}`:                                                     "minUpper: minUpper must be at least 0, not -1",
		`{"length": 3, "upper": false, "lower": false, "numeric": false, "special": false}`: "special: at least one of lower, upper, numeric and special must include characters",
		`{"length": 0}`:               "length: length must be at least 1, not 0",
		`{"length": 3, "lengthy": 3}`: `lengthy: unknown property "lengthy"`,
	} {
		if _, _, refusal := create(t, "Password", inputs); refusal != want {
			t.Errorf("the error of %s is %q, want %q", inputs, refusal, want)
		}
	}
}

func TestPasswordIsSecretAndNotPartOfTheID(t *testing.T) {
	id, state, _ := create(t, "Password", `{"length": 20}`)
	result, hash := state.Get("result"), state.Get("bcryptHash")
	if id != "none" || !result.Secret() || !hash.Secret() {
		t.Errorf("ID %q, result secret: %v, hash secret: %v", id, result.Secret(), hash.Secret())
	}
	if err := bcrypt.CompareHashAndPassword([]byte(hash.AsString()), []byte(result.AsString())); err != nil {
		t.Error(err)
	}
	_, other, _ := create(t, "Password", `{"length": 20}`)
	if other.Get("result").AsString() == result.AsString() {
		t.Error("two passwords are the same")
	}
	imported, err := random.Package().Provider().Read(t.Context(), p.ReadRequest{ID: "hunter2", Urn: urn("Password")})
	if err != nil || imported.ID != "none" || imported.Properties.Get("result").AsString() != "hunter2" || !imported.Properties.Get("result").Secret() {
		t.Errorf("imported %q, %v", imported.ID, err)
	}
}

func TestKeepersReplace(t *testing.T) {
	resp, err := random.Package().Provider().Diff(t.Context(), p.DiffRequest{
		Urn: urn("Password"), OldInputs: props(t, `{"length": 9, "keepers": {"a": "1"}}`), Inputs: props(t, `{"length": 9, "keepers": {"a": "2"}}`),
	})
	if err != nil || resp.DetailedDiff["keepers.a"].Kind != p.UpdateReplace || resp.DeleteBeforeReplace {
		t.Errorf("diff is %+v, %v; want a replacement that creates first", resp, err)
	}
}

func TestOtherValues(t *testing.T) {
	id, state, _ := create(t, "Id", `{"byteLength": 4, "prefix": "p-"}`)
	if !strings.HasPrefix(state.Get("hex").AsString(), "p-") || len(state.Get("hex").AsString()) != 10 || len(id) != 6 {
		t.Errorf("ID %q, hex %q", id, state.Get("hex").AsString())
	}
	_, first, _ := create(t, "Integer", `{"min": 1, "max": 1000000, "seed": "a"}`)
	_, second, _ := create(t, "Integer", `{"min": 1, "max": 1000000, "seed": "a"}`)
	if first.Get("result").AsNumber() != second.Get("result").AsNumber() {
		t.Error("the same seed gives two numbers")
	}
	for range 20 {
		if _, state, _ := create(t, "Integer", `{"min": 3, "max": 5}`); state.Get("result").AsNumber() < 3 || state.Get("result").AsNumber() > 5 {
			t.Errorf("%v is not between 3 and 5", state.Get("result").AsNumber())
		}
	}
	if _, _, refusal := create(t, "Integer", `{"min": 5, "max": 3}`); !strings.Contains(refusal, "min must not be greater than max") {
		t.Errorf("a range from 5 to 3: %q", refusal)
	}
	if id, _, _ := create(t, "Pet", `{"length": 3, "prefix": "the", "separator": "_"}`); strings.Count(id, "_") != 3 || !strings.HasPrefix(id, "the_") {
		t.Errorf("pet is %q", id)
	}
	if id, state, _ := create(t, "Uuid", `{}`); len(id) != 36 || state.Get("result").AsString() != id {
		t.Errorf("UUID is %q", id)
	}
}

func TestImports(t *testing.T) {
	for _, tc := range []struct{ kind, id, output, want string }{
		{"String", "abc", "result", "abc"},
		{"Id", "p-,9hUg", "hex", "p-f61520"},
		{"Uuid", "AABBCCDD-eeff-0011-2233-445566778899", "result", "aabbccdd-eeff-0011-2233-445566778899"},
	} {
		resp, err := random.Package().Provider().Read(t.Context(), p.ReadRequest{ID: tc.id, Urn: urn(tc.kind)})
		if err != nil || resp.Properties.Get(tc.output).AsString() != tc.want {
			t.Errorf("import of %s %q: %s is %v, %v", tc.kind, tc.id, tc.output, resp.Properties.Get(tc.output), err)
		}
	}
	resp, err := random.Package().Provider().Read(t.Context(), p.ReadRequest{ID: "7,1,9", Urn: urn("Integer")})
	if err != nil || resp.Properties.Get("result").AsNumber() != 7 || resp.Inputs.Get("max").AsNumber() != 9 {
		t.Errorf("import of an integer: %v, %v", resp, err)
	}
}

func TestInvalidImportsAreRejected(t *testing.T) {
	for _, tc := range []struct{ kind, id, want string }{
		{"Pet", "able-ant", "cannot be imported"},
		{"Id", "not base64!", "[prefix,]base64url"},
		{"Integer", "7", "result,min,max[,seed]"},
		{"Uuid", "abc", "must be a UUID"},
	} {
		_, err := random.Package().Provider().Read(t.Context(), p.ReadRequest{ID: tc.id, Urn: urn(tc.kind)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("import of %s %q: %v, want %q", tc.kind, tc.id, err, tc.want)
		}
	}
}

func TestSchemaAndVersion(t *testing.T) {
	resp, err := random.Package().Provider().GetSchema(t.Context(), p.GetSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(resp.Schema), &spec); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.ImportSpec(spec, nil, struct{ schema.Loader }{}, schema.ValidationOptions{}); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/pulumi/pulumi-random/sdk/v4 v" + random.Version + "\n"; !strings.Contains(string(gomod), want) {
		t.Errorf("go.mod does not require the SDK at the plugin's version %s", random.Version)
	}
}
