package frame

import (
	"fmt"
	"regexp"
	"slices"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

var namePattern = regexp.MustCompile(`^[a-zA-Z_$][a-zA-Z0-9_$]*$`)

// differ collects the differences between the old and the new inputs of an object.
type differ struct {
	rules   Rules
	further []string // paths that Resource.Differ says replace the resource
	found   map[string]p.PropertyDiff
}

// place is the position of a value: its path in the engine's notation, the path of its rule, and its type.
type place struct {
	path, rule string
	typ        *typ // nil if the SDK has no type
}

func (at place) key(k string) place {
	next := place{path: child(at.path, k), rule: at.rule}
	switch {
	case at.typ == nil || at.typ.kind == kindObject:
		next.rule = join(at.rule, k)
		if at.typ != nil {
			next.typ = at.typ.object.fields[k].typ
		}
	default: // the keys of a map have no rules of their own
		next.typ = at.typ.elem
	}
	return next
}

func (at place) index(i int) place {
	next := place{path: fmt.Sprintf("%s[%d]", at.path, i), rule: at.rule}
	if at.typ != nil {
		next.typ = at.typ.elem
	}
	return next
}

// diff compares inputs. It ignores values that the service chose, so an unchanged program has no diff.
func diff(r Resource, inputs *object, state, olds, news property.Map) p.DiffResponse {
	d := differ{rules: r.Rules, found: map[string]p.PropertyDiff{}}
	if r.Differ != nil {
		d.further = r.Differ(olds, news)
	}
	d.compareMaps(place{typ: &typ{kind: kindObject, object: inputs}}, olds, news, property.New(state))
	if r.Outdated != nil && !property.New(news).HasComputed() {
		for _, path := range r.Outdated(unmarked(property.New(state)).AsMap(), unmarked(property.New(news)).AsMap()) {
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

// collides reports whether the new object would have the old one's name. A generated name never collides, because the
// new object gets a new one.
func collides(r Resource, olds, news property.Map) bool {
	for _, k := range r.Identity {
		if isDefault(news, k) && r.AutoName == k {
			return false
		}
		if !same(olds.Get(k), news.Get(k)) {
			return false
		}
	}
	return r.Identity != nil
}

func (d *differ) compareMaps(at place, olds, news property.Map, state property.Value) {
	for k, n := range news.All {
		if internalKey(k) || n.IsNull() {
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
		if !internalKey(k) && !o.IsNull() && news.Get(k).IsNull() {
			d.removed(at.key(k), o)
		}
	}
}

func (d *differ) compare(at place, o, n, state property.Value) {
	switch {
	case o.IsMap() && n.IsMap():
		d.compareMaps(at, o.AsMap(), n.AsMap(), state)
	case o.IsArray() && n.IsArray() && o.AsArray().Len() == n.AsArray().Len():
		list := n.AsArray().AsSlice()
		if d.rules[at.rule].Set {
			list = sortedLike(list, o.AsArray().AsSlice())
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

// same compares two values at a place. Strings are equal if the place's rule says so.
func (d *differ) same(at place, a, b property.Value) bool {
	f := d.rules[at.rule].Same
	if x, ok := text(a); ok && f != nil {
		if y, ok := text(b); ok {
			return f(x, y)
		}
	}
	return same(a, b)
}

// text returns a string value, or "" for null. ok is false for other values.
func text(v property.Value) (string, bool) {
	if v.IsNull() {
		return "", true
	}
	if !v.IsString() {
		return "", false
	}
	return v.AsString(), true
}

// added records an added value unless the object has that value already, for example the provider's project. As in the
// official providers, a missing value equals false, zero and empty.
func (d *differ) added(at place, n, state property.Value) {
	switch {
	case d.same(at, n, state) || Zero(n) && (state.IsNull() || Zero(state)):
	case n.IsMap() && state.IsMap():
		d.compareMaps(at, property.Map{}, n.AsMap(), state)
	default:
		d.record(at, n, p.Add, p.AddReplace)
	}
}

// removed records a removed value unless the service fills the value in, or the value equals a missing one.
func (d *differ) removed(at place, o property.Value) {
	if !d.rules[at.rule].Computed && !d.nothing(at, o) {
		d.record(at, o, p.Delete, p.DeleteReplace)
	}
}

// nothing reports whether a value equals a missing one, by itself or in all its parts.
func (d *differ) nothing(at place, v property.Value) bool {
	if !v.IsMap() {
		return Zero(v) || d.same(at, v, property.New(property.Null))
	}
	for k, e := range v.AsMap().All {
		if !internalKey(k) && !d.nothing(at.key(k), e) {
			return false
		}
	}
	return true
}

func (d *differ) record(at place, v property.Value, inPlace, replace p.DiffKind) {
	k := inPlace
	if d.replaces(at, v) {
		k = replace
	}
	d.found[at.path] = p.PropertyDiff{Kind: k, InputDiff: true}
}

// replaces reports whether a change at a place, or inside the value v at the place, replaces the resource.
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
			if !internalKey(k) && !Zero(e) && d.replaces(at.key(k), e) {
				return true
			}
		}
	}
	return false
}

// same compares values without secret marks. An unknown value equals no other value.
func same(a, b property.Value) bool {
	return !a.HasComputed() && !b.HasComputed() && unmarked(a).Equals(unmarked(b))
}

// Zero reports whether a value is null, false, zero or empty.
func Zero(v property.Value) bool {
	switch {
	case v.IsBool():
		return !v.AsBool()
	case v.IsNumber():
		return v.AsNumber() == 0
	case v.IsString():
		return v.AsString() == ""
	case v.IsArray():
		return v.AsArray().Len() == 0
	case v.IsMap():
		return v.AsMap().Len() == 0
	default:
		return v.IsNull()
	}
}

// child appends a key to a path in the engine's notation.
func child(path, k string) string {
	if namePattern.MatchString(k) {
		return join(path, k)
	}
	return fmt.Sprintf("%s[%q]", path, k)
}
