package value

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Internal reports whether a key of a map is internal to the engine or to package frame, such as __defaults, rather
// than a property.
func Internal(k string) bool { return strings.HasPrefix(k, "__") }

// Join appends a key to a dotted path, which may be empty.
func Join(path, k string) string {
	if path == "" {
		return k
	}
	return path + "." + k
}

// namePattern matches the keys that a path in the engine's notation contains without quotes.
var namePattern = regexp.MustCompile(`^[a-zA-Z_$][a-zA-Z0-9_$]*$`)

// Child appends a key to a path in the engine's notation, which quotes unusual keys: labels["b/c"].
func Child(path, k string) string {
	if namePattern.MatchString(k) {
		return Join(path, k)
	}
	return fmt.Sprintf("%s[%q]", path, k)
}

// At returns the value at a dotted path, or null. It does not look into arrays.
func At(m property.Map, path string) property.Value {
	head, rest, deeper := strings.Cut(path, ".")
	v := m.Get(head)
	switch {
	case !deeper:
		return v
	case v.IsMap():
		return At(v.AsMap(), rest)
	default:
		return property.New(property.Null)
	}
}
