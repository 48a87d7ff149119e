package frame_test

import (
	"reflect"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

// ruled returns a provider of boxes with other rules.
func ruled(s *shelf, boxRules rules.ByPath) p.Provider {
	pkg := s.pkg()
	r := pkg.Resources[boxToken]
	r.Rules, r.AutoName = boxRules, ""
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
	boxRules := rules.ByPath{
		"colour": {Default: "red"}, "lid.code": {Default: "0000"}, "locks.code": {Default: "1234"},
		"region": {Excludes: []string{"colour"}},
	}
	for name, tc := range map[string]struct{ inputs, want property.Map }{
		"apply at the top":                       {props("size", 1), props("size", 1, "colour", "red")},
		"do not replace inputs":                  {props("colour", "blue"), props("colour", "blue")},
		"apply in objects and lists":             {props("lid", props("level", 1), "locks", list(props("level", 2))), props("colour", "red", "lid", props("level", 1, "code", "0000"), "locks", list(props("level", 2, "code", "1234")))},
		"create no objects":                      {props(), props("colour", "red")},
		"do not apply beside conflicting inputs": {props("region", "here"), props("region", "here")},
		"leave unknown values":                   {props("lid", property.New(property.Computed)), props("colour", "red", "lid", property.New(property.Computed))},
		"keep secret marks":                      {props("lid", property.New(props("level", 1)).WithSecret(true)), props("colour", "red", "lid", property.New(props("level", 1, "code", "0000")).WithSecret(true))},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ruled(&shelf{}, boxRules).Check(t.Context(), p.CheckRequest{Urn: urn("b"), Inputs: tc.inputs})
			if err != nil {
				t.Fatal(err)
			}
			if got := withoutDefaultsKey(property.New(resp.Inputs)); !got.Equals(property.New(tc.want)) {
				t.Errorf("inputs are %v, want %v", got, tc.want)
			}
		})
	}
}

// withoutDefaultsKey removes the lists of the inputs that are defaults.
func withoutDefaultsKey(v property.Value) property.Value {
	switch {
	case v.IsArray():
		elements := v.AsArray().AsSlice()
		for i, e := range elements {
			elements[i] = withoutDefaultsKey(e)
		}
		return property.WithGoValue(v, property.NewArray(elements))
	case v.IsMap():
		m := v.AsMap().Delete("__defaults")
		for k, e := range m.All {
			m = m.Set(k, withoutDefaultsKey(e))
		}
		return property.WithGoValue(v, m)
	default:
		return v
	}
}

func TestCheckOfRules(t *testing.T) {
	boxRules := rules.ByPath{
		"name":       {Excludes: []string{"region", "lid.code"}},
		"colour":     {OneOf: []string{"red", "blue"}},
		"labels":     {Required: true},
		"locks.code": {Check: func(v string) string { return strings.Repeat("must not be empty", 1-min(len(v), 1)) }},
		"size":       {Range: [2]int{1, 9}},
		"lid.level":  {Range: rules.AtLeast(3)},
	}
	for name, tc := range map[string]struct {
		inputs property.Map
		want   string
	}{
		"valid inputs":               {props("size", 9, "colour", "red", "labels", props(), "name", "a", "locks", list(props("level", 1, "code", "1"))), ""},
		"unknown inputs":             {props("size", property.New(property.Computed), "colour", property.New(property.Computed), "labels", property.New(property.Computed)), ""},
		"a missing list or map":      {props("size", 1), `labels: missing required property "labels"`},
		"a value outside the list":   {props("size", 1, "labels", props(), "colour", "green"), `colour: colour must be one of red, blue, not "green"`},
		"a number out of range":      {props("size", 10, "labels", props()), `size: size must be from 1 to 9, not 10`},
		"a number that is too small": {props("size", 1, "labels", props(), "lid", props("level", 2)), `lid.level: lid.level must be at least 3, not 2`},
		"two conflicting inputs":     {props("size", 1, "labels", props(), "name", "a", "region", "here"), `name: name conflicts with region: remove one of them`},
		"a conflict with a part":     {props("size", 1, "labels", props(), "name", "a", "lid", props("level", 3, "code", "1")), `name: name conflicts with lid.code: remove one of them`},
		"an element, with its index": {props("size", 1, "labels", props(), "locks", list(props("level", 1, "code", "1"), props("level", 1, "code", ""))), `locks[1].code: locks[1].code must not be empty`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ruled(&shelf{}, boxRules).Check(t.Context(), p.CheckRequest{Urn: urn("b"), Inputs: tc.inputs})
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
	boxRules := rules.ByPath{
		"colour": {Same: strings.EqualFold}, "labels": {Replace: true},
		"locks": {Replace: true, Set: true}, "lid.code": {Replace: true},
	}
	low, high := props("level", 1), props("level", 2)
	for name, tc := range map[string]struct {
		state, olds, news property.Map
		want              map[string]p.DiffKind
	}{
		"another spelling":                    {olds: props("colour", "Red"), news: props("colour", "red"), want: map[string]p.DiffKind{}},
		"another spelling of the state":       {state: props("colour", "Red"), olds: props(), news: props("colour", "red"), want: map[string]p.DiffKind{}},
		"another order of a set":              {olds: props("locks", list(low, high)), news: props("locks", list(high, low)), want: map[string]p.DiffKind{}},
		"a changed element of a set":          {olds: props("locks", list(low, high)), news: props("locks", list(high, props("level", 3))), want: map[string]p.DiffKind{"locks[0].level": p.Update}},
		"another size of a set":               {olds: props("locks", list(low)), news: props("locks", list(low, high)), want: map[string]p.DiffKind{"locks": p.UpdateReplace}},
		"a key of a replacing map":            {olds: props("labels", props("a", "1")), news: props("labels", props("a", "1", "b", "2")), want: map[string]p.DiffKind{"labels.b": p.AddReplace}},
		"an added object that already exists": {state: props("lid", props("level", 1, "code", "x")), olds: props(), news: props("lid", props("level", 1)), want: map[string]p.DiffKind{}},
		"an added object that differs":        {state: props("lid", props("level", 1, "code", "x")), olds: props(), news: props("lid", props("level", 2)), want: map[string]p.DiffKind{"lid.level": p.Add}},
		"an added object with a new part":     {state: props("lid", props("level", 1)), olds: props(), news: props("lid", props("level", 1, "code", "x")), want: map[string]p.DiffKind{"lid.code": p.AddReplace}},
		"a removed part":                      {olds: props("lid", props("level", 1, "code", "x")), news: props("lid", props("level", 1)), want: map[string]p.DiffKind{"lid.code": p.DeleteReplace}},
		"a removed object of zeros":           {olds: props("lid", props("level", 0, "code", "")), news: props(), want: map[string]p.DiffKind{}},
		"a removed object":                    {olds: props("lid", props("level", 1, "code", "")), news: props(), want: map[string]p.DiffKind{"lid": p.Delete}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ruled(&shelf{}, boxRules).Diff(t.Context(), p.DiffRequest{Urn: urn("b"), State: tc.state, OldInputs: tc.olds, Inputs: tc.news})
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

func TestRefreshKeepsTheOrderAndSpellingOfTheProgram(t *testing.T) {
	s := &shelf{boxes: map[string]boxState{}}
	server := ruled(s, rules.ByPath{"tags": {Set: true}, "region": {Same: strings.EqualFold}})
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

func TestUpdateGetsTheCurrentObject(t *testing.T) {
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
		t.Errorf("the update got %+v, want the region of the service", s.updated)
	}
	if s.updated.Old.Labels["owner"] != "somebody" || s.updated.State.Serial != "2" || s.updated.Args.Labels["owner"] != "me" {
		t.Errorf("the update got %+v", s.updated)
	}
}
