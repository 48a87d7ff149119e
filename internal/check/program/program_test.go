package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/check/program"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/plugins"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/engine"
	store "github.com/strata-platform/strata/operator/engine/plugins"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) {
	if name, isPlugin := plugins.Name(os.Args[0]); isPlugin {
		if err := plugins.Run(context.Background(), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	sandboxtest.Main(m)
}

const noProperties = "no properties at all"

// programs are programs, and whether they have a fault in their types.
var programs = map[string]struct {
	text  string
	fault bool
}{
	"a pet":                   {"resources: {a: {type: 'random:RandomPet', properties: {length: 3}}}", false},
	"a reference":             {"resources: {a: {type: 'random:RandomPet'}, b: {type: 'random:RandomPet', properties: {prefix: '${a.id}'}}}\noutputs: {x: '${b.id}'}", false},
	"an unknown type":         {"resources: {a: {type: 'random:RandomPett'}}", true},
	"an unknown property":     {"resources: {a: {type: 'random:RandomPet', properties: {size: 3}}}", true},
	"a wrong type":            {"resources: {a: {type: 'random:RandomPet', properties: {length: [3]}}}", true},
	noProperties:              {"resources: {a: {type: 'random:RandomPassword'}}", true},
	"a property of an output": {"resources: {a: {type: 'random:RandomPet'}}\noutputs: {x: '${a.nothing}'}", true},
	"a cycle":                 {"resources: {a: {type: 'random:RandomPet', properties: {prefix: '${b.id}'}}, b: {type: 'random:RandomPet', properties: {prefix: '${a.id}'}}}", true},
	"a resource to itself":    {"resources: {a: {type: 'random:RandomPet', properties: {prefix: '${a.id}'}}}", true},
	"a wrong argument":        {"outputs: {x: {fn::join: 3}}", true},
	"a missing property":      {"resources: {a: {type: 'random:RandomPassword', properties: {special: true}}}", true},
	"a missing name of a database": {
		"resources: {a: {type: 'gcp:sql:Database', properties: {name: web}}}", true,
	},
	"a config key of the Stack": {"resources: {a: {type: 'random:RandomPet', properties: {prefix: '${platform:instance}'}}}", false},
	"a mistake beside a config key of the Stack": {
		"resources: {a: {type: 'random:RandomPet', properties: {prefix: '${platform:instance}'}}, b: {type: 'random:RandomPet', properties: {lengths: 3}}}", true,
	},
	"a resource with the name of a config key": {
		"resources: {instance: {type: 'random:RandomPet'}, b: {type: 'random:RandomPet', properties: {prefix: '${instance.id}-${platform:instance}'}}}", false,
	},
}

// TestFaultsAreThoseOfTheEngine runs each program with the operator's engine, and compares.
func TestFaultsAreThoseOfTheEngine(t *testing.T) {
	long.Test(t)
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	find := func(_ context.Context, name string) (string, error) { return toolchaintest.Path(t, name), nil }
	if err := pulumienv.Link(t.Context(), h, find, self); err != nil {
		t.Fatal(err)
	}
	folders := &workdir.Folders{Parent: t.TempDir()}
	kept, err := store.Preparer{Path: h.Tools(), Folders: folders, Memory: 4 << 30}.Prepare(t.Context(), filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	schemas := program.Open(filepath.Join(kept, "schemas"))
	runner := &engine.Engine{Folders: folders, Env: []string{"PATH=" + h.Tools()}}
	for name, tc := range programs {
		t.Run(name, func(t *testing.T) {
			content := []byte("name: shop\nruntime: yaml\n" + tc.text + "\n")
			faults, without := schemas.Check(content, []string{"platform:instance"})
			if len(without) > 0 {
				t.Fatalf("there is no schema of %v", without)
			}
			backend := filepath.Join(t.TempDir(), "state")
			_, err := runner.Run(t.Context(), engine.Request{
				Operation: engine.Preview, Project: "shop", Program: content, Stack: "dev", Backend: "file://" + backend,
				BackendFolder: filepath.Dir(backend), Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "a"}, Secrets: []string{"a passphrase"},
				Config: map[string]json.RawMessage{"platform:instance": json.RawMessage(`"shared"`)},
			})
			var failure *engine.Error
			if err != nil && !errors.As(err, &failure) {
				t.Fatal(err)
			}
			if (len(faults) > 0) != tc.fault || (failure != nil) != tc.fault {
				t.Fatalf("check finds %v, the engine %v, want a fault: %v", faults, err, tc.fault)
			}
			if name == noProperties {
				return // The provider refuses it, in words of its own.
			}
			if tc.fault && !strings.HasPrefix(failure.Message, faults[0].Message) {
				t.Errorf("check  %s\nengine %s", faults[0].Message, failure.Message)
			}
		})
	}
}
