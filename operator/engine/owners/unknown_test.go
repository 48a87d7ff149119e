package owners

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/strata-platform/strata/operator/engine/owners/taken"
)

const named = "resources: {u: {type: 'gcp:sql:User', properties: {name: 'NAME', instance: strata}}}"

// statesWith returns a folder in which Stack shop owns users.
func statesWith(t *testing.T, users ...string) string {
	t.Helper()
	states := t.TempDir()
	file := filepath.Join(states, ".pulumi/stacks/shop/dev.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, user := range users {
		resources = append(resources, taken.User+" "+user+"/%/strata")
	}
	if err := os.WriteFile(file, []byte(stateWith(resources...)), 0o600); err != nil {
		t.Fatal(err)
	}
	return states
}

func TestTheRunGetsTheNamesThatItsUnknownNamesMayBecome(t *testing.T) {
	states := statesWith(t, "web_a", "web_b", "other_a")
	for name, c := range map[string]struct {
		program string
		change  func(*Run)
		want    []string
	}{
		"an output of a resource":         {strings.Replace(named, "NAME", "web_${r.id}", 1), nil, []string{"web_a", "web_b"}},
		"with a known end":                {strings.Replace(named, "NAME", "web_${r.id}a", 1), nil, []string{"web_a"}},
		"nothing but an output":           {strings.Replace(named, "NAME", "${r.id}", 1), nil, []string{"other_a", "web_a", "web_b"}},
		"no text":                         {strings.Replace(named, "'NAME'", "{fn::invoke: {}}", 1), nil, []string{"other_a", "web_a", "web_b"}},
		"a default that a secret shadows": {"configuration: {n: {default: harmless}}\n" + strings.Replace(named, "NAME", "web_${n}", 1), func(r *Run) { r.Secret = map[string]string{"n": "a"} }, []string{"web_a", "web_b"}},
		"a key that is set twice": {strings.Replace(named, "NAME", "web_${n}", 1), func(r *Run) {
			r.Config = map[string]json.RawMessage{"n": json.RawMessage(`"harmless"`), "web:n": json.RawMessage(`"a"`)}
		}, []string{"web_a", "web_b"}},
		"an input of a component that a key shadows": {"components: {c: {" + strings.Replace(named, "NAME", "web_${n}", 1) + "}}", func(r *Run) {
			r.Config = map[string]json.RawMessage{"n": json.RawMessage(`"harmless"`)}
		}, []string{"web_a", "web_b"}},
		"a program in another language": {"", func(r *Run) { r.Opaque = true }, []string{"other_a", "web_a", "web_b"}},
		"a known name":                  {strings.Replace(named, "NAME", "web_c", 1), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := runOf(t, states, "web", c.program)
			if c.change != nil {
				c.change(r)
			}
			others, end, err := new(Registry).Begin(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			var got []string
			for _, each := range others {
				if each.Type != taken.User || each.Instance != "strata" || each.Owner != "Stack shop" {
					t.Errorf("the list contains %+v", each)
				}
				got = append(got, each.Name)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("the list has %q, want %q", got, c.want)
			}
		})
	}
}

func TestARunWithUnknownNamesAndAnotherOneDoNotRunAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		waits         bool
	}{
		"two unknown names":            {"web_${r.id}", "web_${r.id}", true},
		"an unknown name comes second": {"web_a", "web_${r.id}", true},
		"an unknown name comes first":  {"web_${r.id}", "web_a", true},
		"names that never meet":        {"web_a_${r.id}", "web_b_${r.id}", false},
		"a name that is too short":     {"web_${r.id}", "web", false},
	} {
		t.Run(name, func(t *testing.T) {
			states := statesWith(t)
			first := runOf(t, states, "web", strings.Replace(named, "NAME", c.first, 1))
			second := runOf(t, states, "other", strings.Replace(named, "NAME", c.second, 1))
			synctest.Test(t, func(t *testing.T) {
				g := &Registry{}
				_, end, err := g.Begin(t.Context(), first)
				if err != nil {
					t.Fatal(err)
				}
				began := make(chan error, 1)
				go func() {
					_, end, err := g.Begin(t.Context(), second)
					end()
					began <- err
				}()
				synctest.Wait()
				if waits := len(began) == 0; waits != c.waits {
					t.Errorf("the second run waits: %v, want %v", waits, c.waits)
				}
				end()
				if err := <-began; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAStoppedRunDoesNotWait(t *testing.T) {
	states, g := statesWith(t), &Registry{}
	unknown := strings.Replace(named, "NAME", "web_${r.id}", 1)
	_, end, err := g.Begin(t.Context(), runOf(t, states, "web", unknown))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := g.Begin(ctx, runOf(t, states, "other", unknown)); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped run gets %v", err)
	}
}

func TestDeclaredNamesAreComparedWithoutARun(t *testing.T) {
	states, g := statesWith(t), &Registry{}
	for _, step := range []struct{ project, name, want string }{
		{"web", "web_a", ""},
		{"other", "web_${r.id}", ""},
		{"third", "web_${r.id}", ""},
		{"fourth", "web_A", `resource "u" is the user web_a of instance strata, and stack dev of project web creates it at this moment: choose another name, or remove it from stack dev of project web first`},
	} {
		got := ""
		if err := g.Declare(runOf(t, states, step.project, strings.Replace(named, "NAME", step.name, 1))); err != nil {
			got = err.Error()
		}
		if got != step.want {
			t.Errorf("%s: %q, want %q", step.project, got, step.want)
		}
	}
}
