package frame

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/frame/types"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// suffixDigits is the number of random digits at the end of a generated name.
const suffixDigits = 7

// completed returns the inputs with the resource's defaults and, if the program sets no name, the generated name. It
// keeps the generated name of the old inputs.
func completed(r Resource, resourceName string, seed []byte, olds, news property.Map) (property.Map, error) {
	news = r.Rules.AddDefaults(news)
	k := r.AutoName
	if k == "" || !news.Get(k).IsNull() {
		return news, nil
	}
	if old := olds.Get(k); rules.IsDefault(olds, k) && old.IsString() {
		return rules.RecordDefault(news.Set(k, old), k), nil
	}
	name, err := resource.NewUniqueName(seed, resourceName+"-", suffixDigits, 0, nil)
	if err != nil {
		return news, fmt.Errorf("generate a %s: %w", k, err)
	}
	return rules.RecordDefault(news.Set(k, property.New(name)), k), nil
}

// asInput returns the inputs of an imported object: the fields of live that are part of t, the type of the inputs. It
// omits zero values that mean the same as a missing value. It returns null if no field remains.
func asInput(t *types.Type, byPath rules.ByPath, path string, live property.Value) property.Value {
	none := property.New(property.Null)
	switch {
	case t.Kind == types.KindObject && live.IsMap():
		m := map[string]property.Value{}
		for k, l := range live.AsMap().All {
			if f, ok := t.Object.Fields[k]; ok {
				if v := asInput(f.Type, byPath, value.Join(path, k), l); !v.IsNull() {
					m[k] = v
				}
			}
		}
		if len(m) == 0 {
			return none
		}
		return property.New(m)
	case t.Kind == types.KindArray && live.IsArray():
		var list []property.Value
		for _, l := range live.AsArray().All {
			if v := asInput(t.Elem, byPath, path, l); !v.IsNull() {
				l = v
			}
			list = append(list, l)
		}
		if len(list) == 0 {
			return none
		}
		return property.New(property.NewArray(list))
	case value.Zero(live) && (byPath[path].Default == nil || value.Zero(value.FromJSON(byPath[path].Default))):
		return none
	default:
		return live
	}
}
