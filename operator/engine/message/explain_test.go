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
		"list index 3 out-of-bounds for list of length 2 on Pulumi.yaml line 6:":                                          "outputs.a.fn::select[0]: list index 3 out-of-bounds for list of length 2 (line 6 of the Program as Pulumi.yaml)",
		"failed to discover package requirements: Pulumi.yaml:5,5-8: the argument to fn::join must be a two-valued list;": "outputs.a.fn::select: the argument to fn::join must be a two-valued list (line 5 of the Program as Pulumi.yaml)",
		"an unhandled error occurred: 1 error occurred: * Pulumi.yaml:9,3-11: variable b cannot have that name;":          "outputs.b: variable b cannot have that name (line 9 of the Program as Pulumi.yaml)",
		"settings (kubernetes:core/v1:ConfigMap): forbidden":                                                              "settings (kubernetes:core/v1:ConfigMap): forbidden",
		"missing required configuration variable 'size'; run `pulumi config` to set on Pulumi.yaml line 9:":               "outputs.b: missing required configuration variable 'size': set it in the Stack's config, or give it a default in the program (line 9 of the Program as Pulumi.yaml)",
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
