package value

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestMarksOfSecrets(t *testing.T) {
	secret := property.New("s").WithSecret(true)
	like := property.New(map[string]property.Value{"a": property.New([]property.Value{property.New("x"), secret})})
	v := MarkLike(property.New(map[string]property.Value{
		"a": property.New([]property.Value{property.New("1"), property.New("2"), property.New("3")}),
	}), like)
	list := v.AsMap().Get("a").AsArray()
	if list.Get(0).Secret() || !list.Get(1).Secret() || list.Get(2).Secret() {
		t.Errorf("marked %v, want only the second element marked", v)
	}
	empty := MarkPaths(property.NewMap(map[string]property.Value{"a": property.New(property.NewArray(nil))}), []string{"a"})
	if !empty.Get("a").Secret() {
		t.Error("an empty list is not marked")
	}
}
