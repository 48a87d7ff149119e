package rules

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Order returns live with its sets in the order of known, because another order of a set is no change.
func (r ByPath) Order(live, known property.Value) property.Value {
	return r.order("", live, known)
}

// order is Order for the values at path. Elements of a list correspond by index.
func (r ByPath) order(path string, live, known property.Value) property.Value {
	switch {
	case live.IsMap() && known.IsMap():
		m := live.AsMap()
		for k, v := range m.All {
			if inner := value.Join(path, k); r[inner].Set || r.hasBelow(inner) {
				m = m.Set(k, r.order(inner, v, known.AsMap().Get(k)))
			}
		}
		return property.WithGoValue(live, m)
	case live.IsArray() && known.IsArray():
		list := live.AsArray().AsSlice()
		if r[path].Set {
			list = SortLike(list, known.AsArray().AsSlice())
		}
		for i, e := range list {
			if i < known.AsArray().Len() {
				list[i] = r.order(path, e, known.AsArray().Get(i))
			}
		}
		return property.WithGoValue(live, property.NewArray(list))
	default:
		return live
	}
}

// Fill returns the inputs with the missing computed inputs taken from live, the service's state. Otherwise an input that the
// program leaves to the service would look like a removal at the next run.
func (r ByPath) Fill(inputs, live property.Value) property.Value {
	return r.fill("", inputs, live)
}

func (r ByPath) fill(path string, inputs, live property.Value) property.Value {
	switch {
	case inputs.IsMap() && live.IsMap():
		m := inputs.AsMap()
		for k, l := range live.AsMap().All {
			switch v, inner := m.Get(k), value.Join(path, k); {
			case !v.IsNull():
				m = m.Set(k, r.fill(inner, v, l))
			case r[inner].Computed:
				m = m.Set(k, l)
			}
		}
		return property.WithGoValue(inputs, m)
	case inputs.IsArray() && live.IsArray():
		list := inputs.AsArray().AsSlice()
		for i, e := range list {
			if i < live.AsArray().Len() {
				list[i] = r.fill(path, e, live.AsArray().Get(i))
			}
		}
		return property.WithGoValue(inputs, property.NewArray(list))
	default:
		return inputs
	}
}

// Respell returns live with each string replaced by that of known if both mean the same, so that a refresh does not show another
// spelling as a change.
func (r ByPath) Respell(live, known property.Value) property.Value {
	return r.respell("", live, known)
}

func (r ByPath) respell(path string, live, known property.Value) property.Value {
	switch {
	case live.IsMap() && known.IsMap():
		m := live.AsMap()
		for k, v := range m.All {
			m = m.Set(k, r.respell(value.Join(path, k), v, known.AsMap().Get(k)))
		}
		return property.WithGoValue(live, m)
	case live.IsArray() && known.IsArray():
		list := live.AsArray().AsSlice()
		for i, e := range list {
			if i < known.AsArray().Len() {
				list[i] = r.respell(path, e, known.AsArray().Get(i))
			}
		}
		return property.WithGoValue(live, property.NewArray(list))
	case live.IsString() && known.IsString() && r[path].Same != nil && r[path].Same(known.AsString(), live.AsString()):
		return known
	default:
		return live
	}
}

// SortLike returns the elements of a set in the order of known. Elements that are not in known take the places of the
// missing ones, then follow at the end.
func SortLike(set, known []property.Value) []property.Value {
	others := slices.Clone(set)
	matched := make([]*property.Value, len(known))
	for i, k := range known {
		if at := slices.IndexFunc(others, func(e property.Value) bool { return covers(e, k) }); at >= 0 {
			e := others[at]
			matched[i], others = &e, slices.Delete(others, at, at+1)
		}
	}
	sorted := make([]property.Value, 0, len(set))
	for _, m := range matched {
		switch {
		case m != nil:
			sorted = append(sorted, *m)
		case len(others) > 0:
			sorted, others = append(sorted, others[0]), others[1:]
		}
	}
	return append(sorted, others...)
}

// covers reports whether live contains all of wanted. live may contain more, because services return computed values.
func covers(live, wanted property.Value) bool {
	if !live.IsMap() || !wanted.IsMap() {
		return value.Same(live, wanted)
	}
	for k, w := range wanted.AsMap().All {
		l := live.AsMap().Get(k)
		if !value.Internal(k) && !covers(l, w) && (!l.IsNull() || !value.Zero(w)) {
			return false
		}
	}
	return true
}
