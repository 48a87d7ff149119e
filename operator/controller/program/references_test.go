package program

import (
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

func TestFaultsOfProgramsAreFoundByPath(t *testing.T) {
	cases := map[string]struct{ program, want string }{
		"no fault": {`
configuration: {"shop:size": {type: Number}}
variables: {a: "${size}", b: "$${not.one}", c: {fn::invoke: {arguments: {x: "${a}"}}}}
resources:
  r: {type: "a:b:C", properties: {stack: "${pulumi.stack}"}, options: {dependsOn: ["${s}"], provider: "${s}"}}
  s: {type: "a:b:C"}
outputs: {o: "${r.list[0].name} and ${s}"}`, ""},
		"a key without type and default": {`configuration: {a: {}}`,
			"program.configuration.a: set type, default or both"},
		"an output of nothing": {`{variables: {a: 1}, outputs: {o: "${b.c}"}}`,
			`program.outputs.o: "b" could not be found: there is no resource, variable or config key of that name`},
		"a mistyped name": {`{variables: {instance: 1}, outputs: {o: "${instnace}"}}`,
			`program.outputs.o: "instnace" could not be found: there is no resource, variable or config key of that name: did you mean "instance"?`},
		"a property deep within": {`resources: {r: {type: "a:b:C", properties: {list: [x, {deep: "${z}"}]}}}`,
			`program.resources.r.properties.list.1.deep: "z" could not be found: there is no resource, variable or config key of that name`},
		"a dependency on nothing": {`resources: {r: {type: "a:b:C", options: {dependsOn: ["${q}"]}}}`,
			`program.resources.r.options.dependsOn.0: "q" could not be found: there is no resource, variable or config key of that name`},
		"a reference without an end": {`outputs: {o: "a ${b"}`,
			"program.outputs.o: \"${b\" begins with ${ and has no }"},
		"a reference to no name": {`outputs: {o: "${}"}`,
			"program.outputs.o: ${} refers to nothing: name a resource, a variable or a config key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			program := &v1.Program{}
			program.Name = "shop"
			if err := yaml.UnmarshalStrict([]byte(c.program), &program.Program); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := Check(program, nil); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
}
