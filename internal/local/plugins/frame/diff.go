package frame

import (
	"context"
	"fmt"
	"slices"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/frame/types"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// differ collects the differences between the old and the new inputs of an object.
type differ struct {
	rules   rules.ByPath
	further []string // the result of Resource.Differ
	found   map[string]p.PropertyDiff
}

// place is the position of a value: its path in the engine's notation, the path of its rule, and its type.
type place struct {
	path, rule string
	typ        *types.Type // nil below values of any type
}

// key returns the place of the value under a key of an object or a map.
func (at place) key(k string) place {
	next := place{path: value.Child(at.path, k), rule: at.rule}
	switch {
	case at.typ == nil || at.typ.Kind == types.KindObject:
		next.rule = value.Join(at.rule, k)
		if at.typ != nil {
			next.typ = at.typ.Object.Fields[k].Type
		}
	default: // the values of a map have the rule of the map
		next.typ = at.typ.Elem
	}
	return next
}

// index returns the place of an element of a list. All elements have the rule of the list.
func (at place) index(i int) place {
	next := place{path: fmt.Sprintf("%s[%d]", at.path, i), rule: at.rule}
	if at.typ != nil {
		next.typ = at.typ.Elem
	}
	return next
}

// diff compares the old and the new inputs. It ignores values that the service has set, so that an unchanged program
// has no diff.
func diff(ctx context.Context, r Resource, inputs *types.Object, state, olds, news property.Map) p.DiffResponse {
	d := differ{rules: r.Rules, found: map[string]p.PropertyDiff{}}
	if r.Differ != nil {
		d.further = r.Differ(olds, news)
	}
	d.compareMaps(place{typ: &types.Type{Kind: types.KindObject, Object: inputs}}, olds, news, property.New(state))
	if r.Outdated != nil && !property.New(news).HasComputed() {
		for _, path := range r.Outdated(ctx, value.Unmark(property.New(state)).AsMap(), value.Unmark(property.New(news)).AsMap()) {
			d.found[path] = p.PropertyDiff{Kind: p.Update}
		}
	}
	resp := p.DiffResponse{HasChanges: len(d.found) > 0, DetailedDiff: d.found}
	for _, c := range d.found {
		switch c.Kind {
		case p.AddReplace, p.UpdateReplace, p.DeleteReplace:
			resp.DeleteBeforeReplace = collides(r, olds, news)
		}
	}
	return resp
}

// collides reports whether a replacement would have the identity of the old object. A generated name never collides,
// because a replacement gets a new name.
func collides(r Resource, olds, news property.Map) bool {
	for _, k := range r.Identity {
		if rules.IsDefault(news, k) && r.AutoName == k {
			return false
		}
		if !value.Same(olds.Get(k), news.Get(k)) {
			return false
		}
	}
	return r.Identity != nil
}

// compareMaps compares objects or maps. state is the state of the same part of the object, or null.
func (d *differ) compareMaps(at place, olds, news property.Map, state property.Value) {
	for k, n := range news.All {
		if value.Internal(k) || n.IsNull() {
			continue
		}
		s := property.New(property.Null)
		if state.IsMap() {
			s = state.AsMap().Get(k)
		}
		if o := olds.Get(k); o.IsNull() {
			d.added(at.key(k), n, s)
		} else {
			d.compare(at.key(k), o, n, s)
		}
	}
	for k, o := range olds.All {
		if !value.Internal(k) && !o.IsNull() && news.Get(k).IsNull() {
			d.removed(at.key(k), o)
		}
	}
}

// compare records the differences between two values at a place. Lists of different lengths differ as a whole, because
// elements have no identity.
func (d *differ) compare(at place, o, n, state property.Value) {
	switch {
	case o.IsMap() && n.IsMap():
		d.compareMaps(at, o.AsMap(), n.AsMap(), state)
	case o.IsArray() && n.IsArray() && o.AsArray().Len() == n.AsArray().Len():
		list := n.AsArray().AsSlice()
		if d.rules[at.rule].Set {
			list = rules.SortLike(list, o.AsArray().AsSlice())
		}
		for i, e := range list {
			s := property.New(property.Null)
			if state.IsArray() && i < state.AsArray().Len() {
				s = state.AsArray().Get(i)
			}
			d.compare(at.index(i), o.AsArray().Get(i), e, s)
		}
	case !d.same(at, o, n):
		d.record(at, n, p.Update, p.UpdateReplace)
	}
}

// same reports whether two values at a place are equal. The rule of the place compares strings.
func (d *differ) same(at place, a, b property.Value) bool {
	f := d.rules[at.rule].Same
	if x, ok := text(a); ok && f != nil {
		if y, ok := text(b); ok {
			return f(x, y)
		}
	}
	return value.Same(a, b)
}

// text returns the text of a string, or "" for null. ok is false for other values.
func text(v property.Value) (s string, ok bool) {
	if v.IsNull() {
		return "", true
	}
	if !v.IsString() {
		return "", false
	}
	return v.AsString(), true
}

// added records an added value unless the object already has this value, for example the provider's project. As in the
// official providers, a missing value equals false, zero and the empty value.
func (d *differ) added(at place, n, state property.Value) {
	switch {
	case d.same(at, n, state) || value.Zero(n) && (state.IsNull() || value.Zero(state)):
	case n.IsMap() && state.IsMap():
		d.compareMaps(at, property.Map{}, n.AsMap(), state)
	default:
		d.record(at, n, p.Add, p.AddReplace)
	}
}

// removed records a removed value unless the service sets the value, or the value equals a missing one.
func (d *differ) removed(at place, o property.Value) {
	if !d.rules[at.rule].Computed && !d.isMissing(at, o) {
		d.record(at, o, p.Delete, p.DeleteReplace)
	}
}

// isMissing reports whether a value, or each of its parts, equals a missing one.
func (d *differ) isMissing(at place, v property.Value) bool {
	if !v.IsMap() {
		return value.Zero(v) || d.same(at, v, property.New(property.Null))
	}
	for k, e := range v.AsMap().All {
		if !value.Internal(k) && !d.isMissing(at.key(k), e) {
			return false
		}
	}
	return true
}

// record records a change of the value v. Its kind is replace if the change replaces the resource, otherwise inPlace.
func (d *differ) record(at place, v property.Value, inPlace, replace p.DiffKind) {
	k := inPlace
	if d.replaces(at, v) {
		k = replace
	}
	d.found[at.path] = p.PropertyDiff{Kind: k, InputDiff: true}
}

// replaces reports whether adding, changing or removing the value v at a place replaces the resource. It does if a rule
// of the place or of a part of v says so.
func (d *differ) replaces(at place, v property.Value) bool {
	if d.rules[at.rule].Replace || slices.Contains(d.further, at.rule) {
		return true
	}
	switch {
	case v.IsArray():
		for i, e := range v.AsArray().All {
			if (e.IsMap() || e.IsArray()) && d.replaces(at.index(i), e) {
				return true
			}
		}
	case v.IsMap():
		for k, e := range v.AsMap().All {
			if !value.Internal(k) && !value.Zero(e) && d.replaces(at.key(k), e) {
				return true
			}
		}
	}
	return false
}
