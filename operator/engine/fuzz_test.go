package engine

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/printed"
	"github.com/strata-platform/strata/operator/engine/project"
)

func FuzzProject(f *testing.F) {
	for _, seed := range []string{
		"name: shop\nruntime: yaml\n", "name: shop\nruntime: {name: yaml, options: {compiler: x}}\nmain: ../..\n", `{"name": "../../x", "runtime": "yaml"}`,
		"a: &a [*a]\n", "a: &a x\nb: [*a]\nname: *a\n", "stackConfigDir: ../..\nname: a\n", "config: ../../x\n", "? {}\n: 1\n", "name: !!binary YQ==\n", "<<: {name: x}\n",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	f.Fuzz(func(t *testing.T, text string) {
		if err := root.WriteFile("Pulumi.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := project.Read(root, "")
		if err != nil {
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("the error has more than one line: %q", err)
			}
			return
		}
		r := &run{Request: Request{Stack: "dev"}, mask: newMask(Request{}), env: []string{"PATH=/nowhere"}}
		if r.check(found) == nil {
			t.Error("a project passes whose language is not installed")
		}
		_, _, _ = found.CheckMain(root), found.CheckProgram(root), found.Settings("dev")
		var settings map[string]any
		if project.DecodeYAML([]byte(text), &settings) == nil {
			if written, err := yaml.Marshal(settings); err == nil && len(written) > 16*project.MaxExpanded {
				t.Errorf("%d bytes become %d", len(text), len(written))
			}
		}
		_ = found.Offence(root, &project.Allowed{Team: "web", Types: []string{"random:index:RandomPet"}})
	})
}

func FuzzMessage(f *testing.F) {
	for _, seed := range [][2]string{
		{"Pulumi.yaml:5,5-8: the argument", "name: shop\na: 1\n"}, {"<nil>: yaml: line 2: did not find", "a: [\n"}, {"could not validate 'x'", "* #/a/b: expected"},
		{"error: x on Pulumi.yaml line 99999999999999999999:", ""}, {"\x1b[31merror: canary-4711", "a: {fn::secret: canary-4711}\n"}, {"created by a@b (pid 1) at x", "? - a\n: b\n"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Add("a:b:C is not assignable from {x: {y: string}, z: List<a>} Cannot assign '{' to 'a:b:C': y: Missing required property 'y'", "resources: {r: {type: a:b/d:C, properties: {x: 1, z: 2}}}")
	f.Fuzz(func(t *testing.T, text, program string) {
		m := newMask(Request{Program: []byte(program)})
		failure := &Error{Log: text, Message: "could not validate '" + text}
		_, _ = message.SchemaFault(failure.Message, failure.Log)
		_ = printed.Holders(failure.Log)
		got := message.Shorten(message.Properties([]byte(program), message.Explain(message.Tidy(m.Apply(text)), message.InProgram([]byte(program)))))
		if len(got) > message.Size+3 {
			t.Errorf("%d bytes", len(got))
		}
		_ = printed.LastError(text)
		_ = message.LineOf([]byte(program), "a", "b")
		for _, secret := range message.LiteralSecrets([]byte(program)) {
			if len(secret) >= message.ShortestSecret && m.Apply(secret) == secret {
				t.Errorf("%q is not hidden", secret)
			}
		}
	})
}
