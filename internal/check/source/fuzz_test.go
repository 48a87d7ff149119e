package source_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/strata-platform/strata/internal/check/source"
)

// FuzzPlaces looks up fields in files that a hostile team has written. Each place is in the file, and each search ends.
func FuzzPlaces(f *testing.F) {
	const name = "app.yaml"
	for _, seed := range []struct{ content, field string }{
		{"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n    - port: 80\n", "spec.ports[port=80,protocol=\"TCP\"].port"},
		{"kind: List\nitems:\n- kind: ConfigMap\n  metadata: {name: a}\n  data: {a.b: c, \"d[e]\": f}\n", "data[a.b]"},
		{"resources: [a.yaml, '../b.yaml']\n", "resources[1]"},
		{"a: &a [x, x]\nb: *a\n---\nkind: x\n", "b[1]"},
		{"&a {\"\": *a}\n", "[0]"},
		{"kind: &a {kind: List, items: [*a]}\n", "kind.items.0"},
		{"? [a]\n: b\n", "a"},
		{"\xff\x00: [\n", ""},
	} {
		f.Add(seed.content, seed.field)
	}
	f.Fuzz(func(t *testing.T, content, field string) {
		files := source.Read(fstest.MapFS{name: {Data: []byte(content)}}, []string{name, "gone.yaml"})
		places := []source.Place{files.Field(name, field), files.Entry(name, field)}
		for _, kind := range []string{"ConfigMap", "Service", "x"} {
			for _, origin := range []string{"", name} {
				if found := files.Find(origin, source.ID{APIVersion: "v1", Kind: kind, Name: field}); found != nil {
					places = append(places, found.Field(field))
				}
			}
		}
		// YAML knows more line ends than \n (yaml.org/spec/1.1, 5.4).
		most := 2 + strings.Count(content, "\n") + strings.Count(content, "\r") + strings.Count(content, "\u0085") + strings.Count(content, "\u2028") + strings.Count(content, "\u2029")
		for _, place := range places {
			if place.File != name || place.Line < 1 || place.Column < 1 || place.Line > most {
				t.Errorf("field %q is at %+v of %q", field, place, content)
			}
		}
	})
}
