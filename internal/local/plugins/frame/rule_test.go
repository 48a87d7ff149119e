package frame_test

import (
	"reflect"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// ruled returns a provider of boxes with the given rules.
func ruled(s *shelf, rules frame.Rules) p.Provider {
	pkg := s.pkg()
	r := pkg.Resources[boxToken]
	r.Rules, r.AutoName = rules, ""
	pkg.Resources[boxToken] = r
	return pkg.Provider()
}

func list(values ...property.Map) []property.Value {
	elements := make([]property.Value, len(values))
	for i, v := range values {
		elements[i] = property.New(v)
	}
	return elements
}

func TestDefaults(t *testing.T) {
	rules := frame.Rules{
		"colour": {Default: "red"}, "lid.code": {Default: "0000"}, "locks.code": {Default: "1234"},
		"region": {Excludes: []string{"colour"}},
	}
	for name, tc := range map[string]struct{ inputs, want property.Map }{
		"are added at the top":            {props("size", 1), props("size", 1, "colour", "red")},
		"are not added over an input":     {props("colour", "blue"), props("colour", "blue")},
		"are added in objects and lists":  {props("lid", props("level", 1), "locks", list(props("level", 2))), props("colour", "red", "lid", props("level", 1, "code", "0000"), "locks", list(props("level", 2, "code", "1234")))},
		"make no objects":                 {props(), props("colour", "red")},
		"give way to what excludes them":  {props("region", "here"), props("region", "here")},
		"leave values not known as is":    {props("lid", property.New(property.Computed)), props("colour", "red", "lid", property.New(property.Computed))},
		"keep the marks of what is there": {props("lid", property.New(props("level", 1)).WithSecret(true)), props("colour", "red", "lid", property.New(props("level", 1, "code", "0000")).WithSecret(true))},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ruled(&shelf{}, rules).Check(t.Context(), p.CheckRequest{Urn: urn("b"), Inputs: tc.inputs})
			if err != nil {
				t.Fatal(err)
			}
			if got := withoutNotes(property.New(resp.Inputs)); !got.Equals(property.New(tc.want)) {
				t.Errorf("inputs are %v, want %v", got, tc.want)
			}
		})
	}
}

// withoutNotes removes the provider's own notes.
func withoutNotes(v property.Value) property.Value {
	switch {
	case v.IsArray():
		elements := v.AsArray().AsSlice()
		for i, e := range elements {
			elements[i] = withoutNotes(e)
		}
		return property.WithGoValue(v, property.NewArray(elements))
	case v.IsMap():
		m := v.AsMap().Delete("__defaults")
		for k, e := range m.All {
			m = m.Set(k, withoutNotes(e))
		}
		return property.WithGoValue(v, m)
	default:
		return v
	}
}

func TestRulesRefuse(t *testing.T) {
	rules := frame.Rules{
		"name":       {Excludes: []string{"region", "lid.code"}},
		"colour":     {OneOf: []string{"red", "blue"}},
		"labels":     {Required: true},
		"locks.code": {Check: func(v string) string { return strings.Repeat("must not be empty", 1-min(len(v), 1)) }},
		"size":       {Range: [2]int{1, 9}},
		"lid.level":  {Range: frame.AtLeast(3)},
	}
	for name, tc := range map[string]struct {
		inputs property.Map
		want   string
	}{
		"nothing that is right":            {props("size", 9, "colour", "red", "labels", props(), "name", "a", "locks", list(props("level", 1, "code", "1"))), ""},
		"nothing that is not known":        {props("size", property.New(property.Computed), "colour", property.New(property.Computed), "labels", property.New(property.Computed)), ""},
		"a missing list or map":            {props("size", 1), `labels: missing required property "labels"`},
		"a value that is none of the list": {props("size", 1, "labels", props(), "colour", "green"), `colour: colour must be one of red, blue, not "green"`},
		"a number out of range":            {props("size", 10, "labels", props()), `size: size must be from 1 to 9, not 10`},
		"a number that is too small":       {props("size", 1, "labels", props(), "lid", props("level", 2)), `lid.level: lid.level must be at least 3, not 2`},
		"two that exclude each other":      {props("size", 1, "labels", props(), "name", "a", "region", "here"), `name: name cannot stand beside region: remove one of them`},
		"one that excludes a part":         {props("size", 1, "labels", props(), "name", "a", "lid", props("level", 3, "code", "1")), `name: name cannot stand beside lid.code: remove one of them`},
		"an element, with its index":       {props("size", 1, "labels", props(), "locks", list(props("level", 1, "code", "1"), props("level", 1, "code", ""))), `locks[1].code: locks[1].code must not be empty`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ruled(&shelf{}, rules).Check(t.Context(), p.CheckRequest{Urn: urn("b"), Inputs: tc.inputs})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range resp.Failures {
				got = append(got, f.Property+": "+f.Reason)
			}
			if text := strings.Join(got, "\n"); text != tc.want {
				t.Errorf("failures:\n%s\nwant:\n%s", text, tc.want)
			}
		})
	}
}

func TestRulesOfChanges(t *testing.T) {
	rules := frame.Rules{
		"colour": {Same: strings.EqualFold}, "labels": {Replace: true},
		"locks": {Replace: true, Set: true}, "lid.code": {Replace: true},
	}
	low, high := props("level", 1), props("level", 2)
	for name, tc := range map[string]struct {
		state, olds, news property.Map
		want              map[string]p.DiffKind
	}{
		"another way to write it":               {olds: props("colour", "Red"), news: props("colour", "red"), want: map[string]p.DiffKind{}},
		"another way to write what is there":    {state: props("colour", "Red"), olds: props(), news: props("colour", "red"), want: map[string]p.DiffKind{}},
		"another order of a set":                {olds: props("locks", list(low, high)), news: props("locks", list(high, low)), want: map[string]p.DiffKind{}},
		"a change inside of a set that comes":   {olds: props("locks", list(low, high)), news: props("locks", list(high, props("level", 3))), want: map[string]p.DiffKind{"locks[0].level": p.Update}},
		"another size of a set":                 {olds: props("locks", list(low)), news: props("locks", list(low, high)), want: map[string]p.DiffKind{"locks": p.UpdateReplace}},
		"a key of a map that replaces":          {olds: props("labels", props("a", "1")), news: props("labels", props("a", "1", "b", "2")), want: map[string]p.DiffKind{"labels.b": p.AddReplace}},
		"an added object that is there already": {state: props("lid", props("level", 1, "code", "x")), olds: props(), news: props("lid", props("level", 1)), want: map[string]p.DiffKind{}},
		"an added object that is another":       {state: props("lid", props("level", 1, "code", "x")), olds: props(), news: props("lid", props("level", 2)), want: map[string]p.DiffKind{"lid.level": p.Add}},
		"an added object with a new part":       {state: props("lid", props("level", 1)), olds: props(), news: props("lid", props("level", 1, "code", "x")), want: map[string]p.DiffKind{"lid.code": p.AddReplace}},
		"a part that is taken out":              {olds: props("lid", props("level", 1, "code", "x")), news: props("lid", props("level", 1)), want: map[string]p.DiffKind{"lid.code": p.DeleteReplace}},
		"an object without a meaning":           {olds: props("lid", props("level", 0, "code", "")), news: props(), want: map[string]p.DiffKind{}},
		"an object that is taken out":           {olds: props("lid", props("level", 1, "code", "")), news: props(), want: map[string]p.DiffKind{"lid": p.Delete}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ruled(&shelf{}, rules).Diff(t.Context(), p.DiffRequest{Urn: urn("b"), State: tc.state, OldInputs: tc.olds, Inputs: tc.news})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]p.DiffKind{}
			for k, d := range resp.DetailedDiff {
				got[k] = d.Kind
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("diff is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestARefreshKeepsOrderAndSpellingOfTheProgram(t *testing.T) {
	s := &shelf{boxes: map[string]boxState{}}
	server := ruled(s, frame.Rules{"tags": {Set: true}, "region": {Same: strings.EqualFold}})
	inputs := props("name", "a", "size", 1, "region", "here", "tags", []property.Value{property.New("x"), property.New("y")})
	created, err := server.Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: inputs})
	if err != nil {
		t.Fatal(err)
	}
	b := s.boxes["a"]
	b.Tags, b.Region = []string{"z", "y", "x"}, "HERE"
	s.boxes["a"] = b
	read, err := server.Read(t.Context(), p.ReadRequest{ID: "a", Urn: urn("b"), Properties: created.Properties, Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	if in, out := read.Inputs.Get("region").AsString(), read.Properties.Get("region").AsString(); in != "here" || out != "HERE" {
		t.Errorf("the region is %q in the inputs and %q in the state", in, out)
	}
	want := property.New([]property.Value{property.New("x"), property.New("y"), property.New("z")})
	if !read.Inputs.Get("tags").Equals(want) || !read.Properties.Get("tags").Equals(want) {
		t.Errorf("tags are %v and %v, want %v", read.Inputs.Get("tags"), read.Properties.Get("tags"), want)
	}
}

func TestUpdatesSeeTheObjectAsItIs(t *testing.T) {
	s := &shelf{boxes: map[string]boxState{}}
	server := s.pkg().Provider()
	inputs := props("name", "a", "size", 1, "labels", props("owner", "me"))
	created, err := server.Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: inputs})
	if err != nil {
		t.Fatal(err)
	}
	b := s.boxes["a"]
	b.Labels, b.Serial = map[string]string{"owner": "somebody"}, "2"
	s.boxes["a"] = b
	_, err = server.Update(t.Context(), p.UpdateRequest{ID: "a", Urn: urn("b"), State: created.Properties, OldInputs: inputs, Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	if s.updated.Old.Region != "here" || s.updated.Args.Region != "here" {
		t.Errorf("the update got %+v, want the region that the service chose", s.updated)
	}
	if s.updated.Old.Labels["owner"] != "somebody" || s.updated.State.Serial != "2" || s.updated.Args.Labels["owner"] != "me" {
		t.Errorf("the update got %+v", s.updated)
	}
}
