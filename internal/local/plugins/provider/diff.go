package provider

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

var (
	indexPattern = regexp.MustCompile(`\[\d+\]`)
	namePattern  = regexp.MustCompile(`^[a-zA-Z_$][a-zA-Z0-9_$]*$`)
)

// differ collects the differences between the inputs of an object and those wanted of it.
type differ struct {
	resource Resource
	found    map[string]p.PropertyDiff
}

// diff compares inputs. Values the service chose itself are not compared, so an unchanged program shows no change.
func diff(r Resource, state, olds, news property.Map) p.DiffResponse {
	d := differ{resource: r, found: map[string]p.PropertyDiff{}}
	d.compareMaps("", olds, news, property.New(state))
	resp := p.DiffResponse{HasChanges: len(d.found) > 0, DetailedDiff: d.found}
	for _, c := range d.found {
		switch c.Kind {
		case p.AddReplace, p.UpdateReplace, p.DeleteReplace:
			resp.DeleteBeforeReplace = collides(r, olds, news)
		}
	}
	return resp
}

// collides says whether the new object would have the old one's name. A name that was generated is generated anew.
func collides(r Resource, olds, news property.Map) bool {
	for _, k := range r.Identity {
		if isDefault(news, k) && r.AutoName != nil && r.AutoName.Property == k {
			return false
		}
		if !same(olds.Get(k), news.Get(k)) {
			return false
		}
	}
	return r.Identity != nil
}

func (d *differ) compareMaps(path string, olds, news property.Map, state property.Value) {
	stateOf := func(k string) property.Value {
		if state.IsMap() {
			return state.AsMap().Get(k)
		}
		return property.New(property.Null)
	}
	for k, n := range news.All {
		if internalKey(k) || n.IsNull() {
			continue
		}
		if o := olds.Get(k); o.IsNull() {
			d.added(child(path, k), n, stateOf(k))
		} else {
			d.compare(child(path, k), o, n, stateOf(k))
		}
	}
	for k, o := range olds.All {
		if !internalKey(k) && !o.IsNull() && news.Get(k).IsNull() {
			d.removed(child(path, k), o)
		}
	}
}

func (d *differ) compare(path string, o, n, state property.Value) {
	switch {
	case o.IsMap() && n.IsMap():
		d.compareMaps(path, o.AsMap(), n.AsMap(), state)
	case o.IsArray() && n.IsArray() && o.AsArray().Len() == n.AsArray().Len():
		for i, e := range n.AsArray().All {
			var s property.Value
			if state.IsArray() && i < state.AsArray().Len() {
				s = state.AsArray().Get(i)
			}
			d.compare(fmt.Sprintf("%s[%d]", path, i), o.AsArray().Get(i), e, s)
		}
	case !same(o, n):
		d.record(path, n, p.Update, p.UpdateReplace)
	}
}

// added is no change when the object has that value already, for example a project that used to be the provider's. As in
// the official providers, nothing is the same as false, zero or empty.
func (d *differ) added(path string, n, state property.Value) {
	if same(n, state) || zero(n) && state.IsNull() {
		return
	}
	d.record(path, n, p.Add, p.AddReplace)
}

// removed is no change when the service goes on to fill the value in, or when there was as good as none.
func (d *differ) removed(path string, o property.Value) {
	if zero(o) || slices.Contains(d.resource.Computed, generic(path)) {
		return
	}
	if o.IsMap() && o.AsMap().Len() > 0 {
		left := false
		for k := range o.AsMap().All {
			left = left || !slices.Contains(d.resource.Computed, generic(child(path, k)))
		}
		if !left {
			return
		}
	}
	d.record(path, o, p.Delete, p.DeleteReplace)
}

func (d *differ) record(path string, v property.Value, inPlace, replace p.DiffKind) {
	k := inPlace
	if d.replaces(generic(path), v) {
		k = replace
	}
	d.found[path] = p.PropertyDiff{Kind: k, InputDiff: true}
}

// replaces says whether path, or a path inside the value v that stands there, is one that replaces the resource.
func (d *differ) replaces(path string, v property.Value) bool {
	for _, r := range d.resource.Replace {
		if path == r || strings.HasPrefix(path, r+".") {
			return true
		}
	}
	if v.IsArray() {
		for _, e := range v.AsArray().All {
			if e.IsMap() && d.replaces(path, e) {
				return true
			}
		}
	}
	if v.IsMap() {
		for k, e := range v.AsMap().All {
			if d.replaces(join(path, k), e) {
				return true
			}
		}
	}
	return false
}

// same compares values regardless of secret marks. An unknown value is not the same as any other.
func same(a, b property.Value) bool {
	return !a.HasComputed() && !b.HasComputed() && unmarked(a).Equals(unmarked(b))
}

// zero says whether a value is as good as none.
func zero(v property.Value) bool {
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

// generic turns a path of the engine's into the form that Replace and Computed use.
func generic(path string) string {
	return indexPattern.ReplaceAllString(path, "")
}

// child appends a key in the engine's notation.
func child(path, k string) string {
	if namePattern.MatchString(k) {
		return join(path, k)
	}
	return fmt.Sprintf("%s[%q]", path, k)
}
