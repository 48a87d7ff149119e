package codec

import (
	"reflect"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

type inner struct {
	Enabled         bool     `json:"enabled,omitempty"`
	Size            int64    `json:"size,omitempty"`
	ForceSendFields []string `json:"-"`
}

type outer struct {
	Name   string            `json:"name"`
	Inner  *inner            `json:"inner,omitempty"`
	Inners []*inner          `json:"inners,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

func mustEncode(t *testing.T, v any) property.Map {
	t.Helper()
	m, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDecodeSendsFieldsThatAreSetToZero(t *testing.T) {
	m := mustEncode(t, map[string]any{"name": "a", "inner": map[string]any{"enabled": false, "size": 1}, "inners": []any{map[string]any{"size": 0}}})
	var o outer
	if err := Decode(m, &o); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Enabled"}; !reflect.DeepEqual(o.Inner.ForceSendFields, want) {
		t.Errorf("ForceSendFields of inner is %v, want %v", o.Inner.ForceSendFields, want)
	}
	if want := []string{"Size"}; !reflect.DeepEqual(o.Inners[0].ForceSendFields, want) {
		t.Errorf("ForceSendFields of inners[0] is %v, want %v", o.Inners[0].ForceSendFields, want)
	}
}

func TestDecodeSkipsUnknownValues(t *testing.T) {
	m := property.NewMap(map[string]property.Value{"name": property.New(property.Computed), "labels": property.New(property.Computed)})
	var o outer
	if err := Decode(m, &o); err != nil || o.Name != "" || o.Labels != nil {
		t.Errorf("decoded %+v, %v", o, err)
	}
}

func TestIgnoredListsPropertiesWithoutAField(t *testing.T) {
	m := mustEncode(t, map[string]any{
		"name": "a", "colour": "red", "labels": map[string]any{"any": "key"},
		"inner": map[string]any{"size": 1, "shape": "round"}, "inners": []any{map[string]any{"shape": "flat"}, map[string]any{"shape": "flat"}},
		"__defaults": []any{"name"},
	})
	got := ShapeOf[outer]().Ignored(property.New(m))
	if want := []string{"colour", "inner.shape", "inners.shape"}; !reflect.DeepEqual(got, want) {
		t.Errorf("ignored are %v, want %v", got, want)
	}
}

type big struct {
	Size            int64    `json:"size,omitempty,string"`
	Bigs            []*big   `json:"bigs,omitempty"`
	ForceSendFields []string `json:"-"`
}

func TestNumbersThatGoogleEncodesAsStringsAreNumbers(t *testing.T) {
	m := mustEncode(t, map[string]any{"size": 5, "bigs": []any{map[string]any{"size": 1 << 40, "bigs": []any{}}, map[string]any{"size": 0, "bigs": []any{}}}})
	var b big
	if err := Decode(m, &b); err != nil || b.Size != 5 || b.Bigs[0].Size != 1<<40 {
		t.Fatalf("decoded %+v, %v", b, err)
	}
	if back := mustEncode(t, b); !property.New(back).Equals(property.New(m)) {
		t.Errorf("encoded %v, want %v", back, m)
	}
}

func TestEncodeAddsZerosThatGoogleOmits(t *testing.T) {
	m := mustEncode(t, outer{Name: "a", Inner: &inner{}, Inners: []*inner{{Size: 1}}})
	want := mustEncode(t, map[string]any{
		"name": "a", "inner": map[string]any{"enabled": false, "size": 0}, "inners": []any{map[string]any{"enabled": false, "size": 1}},
	})
	if !property.New(m).Equals(property.New(want)) {
		t.Errorf("encoded %v, want %v", m, want)
	}
}
