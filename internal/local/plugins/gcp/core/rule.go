package core

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

// The rules of the resources agree with those of the official provider. Their source is the documentation and the
// schemas of version 5.42.0 of Terraform's google-beta provider, which the official plugin wraps.

// FromProvider returns the rule of the inputs project, region and location: part of the object's identity, with a
// default in the provider's configuration.
func FromProvider() rules.Rule {
	return rules.Rule{Replace: true, Computed: true, Same: SameName}
}

// SameName reports whether two names are equal. Each may be the bare name, or a path or link that ends in the name.
func SameName(a, b string) bool { return LastPart(a) == LastPart(b) }

// LastPart returns the part of a path or link after its last slash, which is the name of the object.
func LastPart(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// SameAs returns a comparison for a Rule in which an empty string equals value.
func SameAs(value string) func(a, b string) bool {
	return func(a, b string) bool { return a == b || a == "" && b == value || b == "" && a == value }
}

// Matching returns a check for a Rule that a string matches a pattern. words describes the pattern in the message:
// "must be ...".
func Matching(pattern *regexp.Regexp, words string) func(string) string {
	return func(value string) string {
		if pattern.MatchString(value) {
			return ""
		}
		return fmt.Sprintf("must be %s, not %q", words, value)
	}
}

// AtMost returns a check for a Rule that a string is at most length bytes long.
func AtMost(length int) func(string) string {
	return func(value string) string {
		if len(value) <= length {
			return ""
		}
		return fmt.Sprintf("must not be longer than %d characters, and has %d", length, len(value))
	}
}
