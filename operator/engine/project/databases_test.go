package project

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// misnaming returns the offence in the databases of a program, for a team that may declare every type of Google and of Strata.
func misnaming(t testing.TB, program string) string {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(program), &document); err != nil {
		t.Skip(err)
	}
	if found := undeclarable(&document, &Allowed{Prefixes: []string{"gcp:", "strata:"}, Team: "web", Contact: "c"}); found != nil {
		return found.Message
	}
	return ""
}

func TestADatabaseIsNamedAfterItsTeam(t *testing.T) {
	const (
		unnamed     = `resource "a" has no plain-text name`
		taken       = `resource "a" reads or imports an existing resource`
		unprintable = `resource "a" has a name with characters outside printable ASCII`
		late        = ", which begins with a value that is known only at run time"
		other       = ", which is too long or has other characters"
	)
	for name, tc := range map[string]struct{ resource, want string }{
		"the team's name":              {"{type: gcp:sql:Database, properties: {name: web}}", ""},
		"with more after it":           {"{type: gcp:sql/database:Database, properties: {name: web_orders-2}}", ""},
		"with a reference after it":    {"{type: gcp:sql:User, properties: {name: 'web_${pulumi.stack}'}}", ""},
		"the longest of a database":    {"{type: gcp:sql:Database, properties: {name: web_" + strings.Repeat("a", 60) + "}}", ""},
		"the longest of a user":        {"{type: gcp:sql:User, properties: {name: web_" + strings.Repeat("a", 28) + "}}", ""},
		"another type":                 {"{type: gcp:sql:DatabaseInstance, properties: {name: hr}}", ""},
		"one of another team":          {"{type: gcp:sql:Database, properties: {name: hr_salaries}}", `resource "a" has the name "hr_salaries", which only team hr may use`},
		"one of a team that begins so": {"{type: gcp:sql:User, properties: {name: web-2_x}}", `resource "a" has the name "web-2_x", which only team web-2 may use`},
		"the administrator":            {"{type: gcp:sql:User, properties: {name: root}}", `resource "a" has the name "root", which only team root may use`},
		"the type in other cases":      {"{type: gcp:sql/USER:uSeR, properties: {name: hr}}", `resource "a" has the name "hr", which only team hr may use`},
		"the type in letters that fold": {"{type: \"gcp:sql/u\u017fer:U\u017fer\", properties: {name: web_" + strings.Repeat("a", 29) + "}}",
			`resource "a" has the name "web_` + strings.Repeat("a", 29) + `"` + other},
		"the type twice":                {"{type: gcp:sql:User, Type: gcp:sql:DatabaseInstance, properties: {name: hr}}", `resource "a" has the name "hr", which only team hr may use`},
		"the properties in other case":  {"{type: gcp:sql:User, PROPERTIES: {name: hr}}", `resource "a" has the name "hr", which only team hr may use`},
		"the properties twice":          {"{type: gcp:sql:User, properties: {name: web}, Properties: {name: hr}}", unnamed},
		"the name in another case":      {"{type: gcp:sql:User, properties: {Name: web}}", unnamed},
		"the name twice":                {"{type: gcp:sql:User, properties: {name: web, Name: hr}}", unnamed},
		"the properties by a reference": {"{type: gcp:sql:User, properties: '${all}'}", unnamed},
		"no properties":                 {"{type: gcp:sql:User}", unnamed},
		"no name":                       {"{type: gcp:sql:User, properties: {instance: x}}", unnamed},
		"a name by a function":          {"{type: gcp:sql:User, properties: {name: {fn::secret: hr}}}", unnamed},
		"a name by an alias":            {"{type: gcp:sql:User, properties: {instance: &i web, name: *i}}", unnamed},
		"a name by a merge":             {"{type: gcp:sql:User, properties: {<<: {name: web}}}", unnamed},
		"a name with a tag":             {"{type: gcp:sql:User, properties: {name: !!binary aHI=}}", unnamed},
		"a name that is a number":       {"{type: gcp:sql:User, properties: {name: 5}}", unnamed},
		"a name by a reference":         {"{type: gcp:sql:User, properties: {name: '${a}'}}", `resource "a" has the name "${a}"` + late},
		"the team's, and a reference":   {"{type: gcp:sql:User, properties: {name: 'web${a}_b'}}", `resource "a" has the name "web${a}_b"` + late},
		"an escaped reference":          {"{type: gcp:sql:User, properties: {name: 'web_$${a}'}}", `resource "a" has the name "web_$${a}"` + other},
		"a name to be decoded":          {"{type: gcp:sql:User, properties: {name: web_%2e%2e%2fhr}}", `resource "a" has the name "web_%2e%2e%2fhr"` + other},
		"a name with a line's end":      {`{type: gcp:sql:User, properties: {name: "web_a\n"}}`, unprintable},
		"a name with a zero byte":       {`{type: gcp:sql:User, properties: {name: "web_\0"}}`, unprintable},
		"a name with a letter like it":  {"{type: gcp:sql:User, properties: {name: w\u0435b_a}}", unprintable},
		"a component":                   {"{type: strata:index:Database, properties: {name: web_shop}}", ""},
		"another team's by a component": {"{type: strata:index:Database, properties: {name: hr_salaries}}", `resource "a" has the name "hr_salaries", which only team hr may use`},
		"a component, written short":    {"{type: strata:dataBase, properties: {name: hr}}", `resource "a" has the name "hr", which only team hr may use`},
		"a component, written long":     {"{type: strata:index/database:Database, properties: {name: hr}}", `resource "a" has the name "hr", which only team hr may use`},
		"a component without a name":    {"{type: strata:index:Database}", unnamed},
		"a component's user too long":   {"{type: strata:index:Database, properties: {name: web_" + strings.Repeat("a", 29) + "}}", `resource "a" has the name "web_` + strings.Repeat("a", 29) + `"` + other},
		"a component that is read":      {"{type: strata:index:Database, get: {id: hr}}", taken},
		"one that is imported":          {"{type: gcp:sql:User, properties: {name: web}, Options: {Import: hr}}", taken},
		"one that is read":              {"{type: gcp:sql:Database, get: {id: hr}}", taken},
	} {
		for _, program := range []string{"resources: {a: " + tc.resource + "}", "components: {c: {Resources: {a: " + tc.resource + "}}}"} {
			if got := misnaming(t, program); got != tc.want {
				t.Errorf("%s: %q, want %q", name, got, tc.want)
			}
		}
	}
}

// FuzzDatabaseName looks for a name that the check accepts although it is not the team's, in any spelling.
func FuzzDatabaseName(f *testing.F) {
	for _, name := range []string{"web", "web_orders", "'web_${pulumi.stack}'", "hr_salaries", "web-2_x", `"web_\x00"`, "web_%2e%2e%2fhr", "!!binary d2Vi", "{fn::secret: web}"} {
		f.Add("gcp:sql/user:User", "properties", "name", name)
	}
	f.Add("gcp:sql:\u212aatabase", "PROPERTIES", "Name", "web")
	f.Add("strata:index:Database", "properties", "name", "hr")
	f.Fuzz(func(t *testing.T, kind, properties, key, name string) {
		program := "resources:\n  a:\n    type: \"" + kind + "\"\n    " + properties + ":\n      " + key + ": " + name + "\n"
		if misnaming(t, program) != "" {
			return
		}
		var parsed struct{ Resources map[string]map[string]any }
		if err := yaml.Unmarshal([]byte(program), &parsed); err != nil {
			return
		}
		for _, resource := range parsed.Resources {
			kind, _ := resource["type"].(string)
			shared := strings.EqualFold(kind, "gcp:sql:User") || strings.EqualFold(kind, "gcp:sql/user:User") ||
				strings.EqualFold(kind, "gcp:sql:Database") || strings.EqualFold(kind, "gcp:sql/database:Database") ||
				strings.EqualFold(kind, "strata:Database") || strings.EqualFold(kind, "strata:index:Database")
			for key, value := range resource {
				// Pulumi ignores the case of this key, and not of the keys below it.
				given, _ := value.(map[string]any)
				if text, _ := given["name"].(string); shared && strings.EqualFold(key, "properties") && text != "web" &&
					(!strings.HasPrefix(text, "web_") || strings.ContainsAny(text, "%/.\\\x00\n") && !strings.Contains(text, "${")) {
					t.Errorf("%q passes as the name of a %s", text, kind)
				}
			}
		}
	})
}
