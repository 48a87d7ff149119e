package message

import "testing"

func TestExplain(t *testing.T) {
	const program = `name: shop
runtime: yaml
outputs:
  a:
    fn::select:
      - 3
      - - a
        - b
  b: 1
`
	for message, want := range map[string]string{
		"list index 3 out-of-bounds for list of length 2 on Pulumi.yaml line 6:":                                          "outputs.a.fn::select[0]: list index 3 out-of-bounds for list of length 2",
		"failed to discover package requirements: Pulumi.yaml:5,5-8: the argument to fn::join must be a two-valued list;": "outputs.a.fn::select: the argument to fn::join must be a two-valued list",
		"an unhandled error occurred: 1 error occurred: * Pulumi.yaml:9,3-11: variable b cannot have that name;":          "outputs.b: variable b cannot have that name",
		"settings (kubernetes:core/v1:ConfigMap): forbidden":                                                              "settings (kubernetes:core/v1:ConfigMap): forbidden",
		"missing required configuration variable 'size'; run `pulumi config` to set on Pulumi.yaml line 9:":               "outputs.b: missing required configuration variable 'size': set it in the Stack's config, or give it a default in the program",
		`performing HTTP request: Get "http://127.0.0.1:9/api/user": dial tcp: connection refused`:                        "the backend http://127.0.0.1:9 does not answer (dial tcp: connection refused): check its address, and whether runs can reach it",
	} {
		if got := Explain(message, InProgram([]byte(program))); got != want {
			t.Errorf("of %q:\n%s, want\n%s", message, got, want)
		}
	}
}

func TestLiteralSecretsAreMasked(t *testing.T) {
	mask := NewMask(LiteralSecrets([]byte("variables:\n  a: {fn::secret: {inner: [hidden-one, {name: hidden-two}]}}\n  b: shown\n"))...)
	if got, want := mask.Apply("hidden-one hidden-two inner shown"), "[secret] [secret] inner shown"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

func TestAFaultOfAPropertyNamesTheResource(t *testing.T) {
	const program = `name: shop
runtime: yaml
resources:
  first: {type: "gcp:sql:Database", properties: {name: a, instance: b}}
  orders:
    type: gcp:sql:Database
    properties:
      name: web_orders
      instnace: x
  list:
    type: gcp:sql/database:Database
    properties:
      instance: 3
      name: [1]
`
	for message, want := range map[string]string{
		"gcp:sql/database:Database is not assignable from {instnace: string, name: string} Cannot assign '{instnace: string, name: string}' to 'gcp:sql/database:Database': " +
			"instance: Missing required property 'instance' Existing properties are: instance, name, charset, collation, project and 1 other " +
			"Error: gcp:sql/user:User is not assignable from {instnace: string} Cannot assign '{instnace: string}' to 'gcp:sql/user:User': name: Missing required property 'name'": `resources.orders.properties: ` +
			`gcp:sql/database:Database: the required property "instance" is missing: did you mean it by "instnace"?`,
		"gcp:sql/database:Database is not assignable from {instance: number, name: List<number>} on Pulumi.yaml line 14: " +
			"Cannot assign '{instance: number, name: List<number>}' to 'gcp:sql/database:Database': name: Cannot assign 'List<number>' to 'string'": `resources.list.properties.name[0]: gcp:sql/database:Database: name is a List<number> and must be a string`,
		"Property instnace does not exist on 'gcp:sql/database:Database' on Pulumi.yaml line 9: Cannot assign '{instance: string, instnace: string}' to 'gcp:sql/database:Database': " +
			"Existing properties are: instance, name, charset, collation, project and 1 other": `resources.orders.properties.instnace: gcp:sql/database:Database has no property "instnace" ` +
			`(it has instance, name, charset, collation, project, among others): did you mean "instance"?`,
		"a:b:C is not assignable from {":     "a:b:C is not assignable from {",
		"orders (gcp:sql/database:Database)": "orders (gcp:sql/database:Database)",
	} {
		if got := Properties([]byte(program), Explain(message, InProgram([]byte(program)))); got != want {
			t.Errorf("of %q:\n%s, want\n%s", message, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for name, want := range map[string]string{
		"instanze": `: did you mean "instance"?`, "instnace": `: did you mean "instance"?`, "nstance": `: did you mean "instance"?`,
		"instance": "", "orders": "", "ab": "", "": "",
	} {
		if got := DidYouMean(name, []string{"name", "instance", "abc"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
