package frame

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// ordered returns live with each of its sets in the order of known, because another order is no change.
func (r Rules) ordered(path string, live, known property.Value) property.Value {
	switch {
	case live.IsMap() && known.IsMap():
		m := live.AsMap()
		for k, v := range m.All {
			if inner := join(path, k); r[inner].Set || r.reach(inner) {
				m = m.Set(k, r.ordered(inner, v, known.AsMap().Get(k)))
			}
		}
		return property.WithGoValue(live, m)
	case live.IsArray() && known.IsArray():
		list := live.AsArray().AsSlice()
		if r[path].Set {
			list = sortedLike(list, known.AsArray().AsSlice())
		}
		for i, e := range list {
			if i < known.AsArray().Len() {
				list[i] = r.ordered(path, e, known.AsArray().Get(i))
			}
		}
		return property.WithGoValue(live, property.NewArray(list))
	default:
		return live
	}
}

// filled returns the inputs with missing computed values taken from live, the service's state.
func (r Rules) filled(path string, inputs, live property.Value) property.Value {
	switch {
	case inputs.IsMap() && live.IsMap():
		m := inputs.AsMap()
		for k, l := range live.AsMap().All {
			switch v, inner := m.Get(k), join(path, k); {
			case !v.IsNull():
				m = m.Set(k, r.filled(inner, v, l))
			case r[inner].Computed:
				m = m.Set(k, l)
			}
		}
		return property.WithGoValue(inputs, m)
	case inputs.IsArray() && live.IsArray():
		list := inputs.AsArray().AsSlice()
		for i, e := range list {
			if i < live.AsArray().Len() {
				list[i] = r.filled(path, e, live.AsArray().Get(i))
			}
		}
		return property.WithGoValue(inputs, property.NewArray(list))
	default:
		return inputs
	}
}

// spelled returns live with the spelling of known for each string that means the same.
func (r Rules) spelled(path string, live, known property.Value) property.Value {
	switch {
	case live.IsMap() && known.IsMap():
		m := live.AsMap()
		for k, v := range m.All {
			m = m.Set(k, r.spelled(join(path, k), v, known.AsMap().Get(k)))
		}
		return property.WithGoValue(live, m)
	case live.IsArray() && known.IsArray():
		list := live.AsArray().AsSlice()
		for i, e := range list {
			if i < known.AsArray().Len() {
				list[i] = r.spelled(path, e, known.AsArray().Get(i))
			}
		}
		return property.WithGoValue(live, property.NewArray(list))
	case live.IsString() && known.IsString() && r[path].Same != nil && r[path].Same(known.AsString(), live.AsString()):
		return known
	default:
		return live
	}
}

// sortedLike orders the elements of a set like known. The elements outside known fill the gaps and the end.
func sortedLike(set, known []property.Value) []property.Value {
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

// covers reports whether live contains everything in wanted. The service may return more.
func covers(live, wanted property.Value) bool {
	if !live.IsMap() || !wanted.IsMap() {
		return same(live, wanted)
	}
	for k, w := range wanted.AsMap().All {
		l := live.AsMap().Get(k)
		if !internalKey(k) && !covers(l, w) && (!l.IsNull() || !Zero(w)) {
			return false
		}
	}
	return true
}
