package core

import (
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Differ reports whether two inputs differ for the service, which treats a missing value like a zero value. a and b are
// any values that package codec can encode.
func Differ(a, b any) bool {
	x, errX := codec.Encode(struct {
		V any `json:"v"`
	}{a})
	y, errY := codec.Encode(struct {
		V any `json:"v"`
	}{b})
	return errX != nil || errY != nil || !withoutZeros(property.New(x)).Equals(withoutZeros(property.New(y)))
}

// withoutZeros returns a value without the zero values in its maps, at every depth.
func withoutZeros(v property.Value) property.Value {
	if !v.IsMap() {
		return v
	}
	m := v.AsMap()
	for k, e := range m.All {
		if e = withoutZeros(e); value.Zero(e) {
			m = m.Delete(k)
		} else {
			m = m.Set(k, e)
		}
	}
	return property.New(m)
}
