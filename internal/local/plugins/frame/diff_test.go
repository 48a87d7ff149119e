package frame_test

import (
	"reflect"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		state, olds, news property.Map
		want              map[string]p.DiffKind
		deleteFirst       bool
	}{
		"same inputs are no change":              {olds: props("size", 1), news: props("size", 1)},
		"a new secret mark is no change":         {olds: props("size", 1), news: props("size", property.New(1.0).WithSecret(true))},
		"a change in place":                      {olds: props("colour", "red"), news: props("colour", "blue"), want: map[string]p.DiffKind{"colour": p.Update}},
		"a change that replaces, name unchanged": {olds: props("name", "a", "size", 1), news: props("name", "a", "size", 2), want: map[string]p.DiffKind{"size": p.UpdateReplace}, deleteFirst: true},
		"a change of the name":                   {olds: props("name", "a"), news: props("name", "b"), want: map[string]p.DiffKind{"name": p.UpdateReplace}},
		"a replacement with a generated name": {
			olds: props("name", "a-1", "size", 1, "__defaults", []property.Value{property.New("name")}),
			news: props("name", "a-1", "size", 2, "__defaults", []property.Value{property.New("name")}),
			want: map[string]p.DiffKind{"size": p.UpdateReplace},
		},
		"an unknown value":                           {olds: props("name", "a", "size", 1), news: props("name", "a", "size", property.New(property.Computed)), want: map[string]p.DiffKind{"size": p.UpdateReplace}, deleteFirst: true},
		"an added value that the object already has": {state: props("region", "here"), olds: props(), news: props("region", "here")},
		"an added value":                             {state: props("region", "here"), olds: props(), news: props("region", "there"), want: map[string]p.DiffKind{"region": p.Add}},
		"a removed value that the service sets":      {olds: props("region", "here"), news: props()},
		"a removed value":                            {olds: props("colour", "red"), news: props(), want: map[string]p.DiffKind{"colour": p.Delete}},
		"an added object with a replacing part": {
			olds: props(), news: props("lid", props("code", "x")), want: map[string]p.DiffKind{"lid": p.AddReplace}, deleteFirst: true,
		},
		"a key of a map": {
			olds: props("labels", props("a", "1", "b/c", "2")), news: props("labels", props("a", "1", "b/c", "3")),
			want: map[string]p.DiffKind{`labels["b/c"]`: p.Update},
		},
		"an element of a list": {
			olds: props("locks", []property.Value{property.New(props("level", 1))}),
			news: props("locks", []property.Value{property.New(props("level", 2))}),
			want: map[string]p.DiffKind{"locks[0].level": p.Update},
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := (&shelf{}).pkg().Provider().Diff(t.Context(), p.DiffRequest{Urn: urn("b"), State: tc.state, OldInputs: tc.olds, Inputs: tc.news})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]p.DiffKind{}
			for k, d := range resp.DetailedDiff {
				got[k] = d.Kind
			}
			if tc.want == nil {
				tc.want = map[string]p.DiffKind{}
			}
			if !reflect.DeepEqual(got, tc.want) || resp.HasChanges != (len(tc.want) > 0) {
				t.Errorf("diff is %v (changes: %v), want %v", got, resp.HasChanges, tc.want)
			}
			if resp.DeleteBeforeReplace != tc.deleteFirst {
				t.Errorf("delete before replace is %v, want %v", resp.DeleteBeforeReplace, tc.deleteFirst)
			}
		})
	}
}
