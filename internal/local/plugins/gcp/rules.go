package gcp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// The rules of the resources follow the official provider. Source: the documentation and the schemas of version 5.42.0
// of Terraform's google-beta provider, which the official plugin wraps.

// fromProvider returns the rule of an input that locates the object and has its default in the provider's
// configuration.
func fromProvider() frame.Rule {
	return frame.Rule{Replace: true, Computed: true, Same: sameName}
}

// sameName compares two names. A name may also be given as a path or link, which ends in the name.
func sameName(a, b string) bool { return lastPart(a) == lastPart(b) }

func lastPart(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// sameAs returns a comparison in which an empty string equals value.
func sameAs(value string) func(a, b string) bool {
	return func(a, b string) bool { return a == b || a == "" && b == value || b == "" && a == value }
}

// matching returns a check that a string matches a pattern. words describes the pattern.
func matching(pattern *regexp.Regexp, words string) func(string) string {
	return func(value string) string {
		if pattern.MatchString(value) {
			return ""
		}
		return fmt.Sprintf("must be %s, not %q", words, value)
	}
}

// atMost returns a check that a string is at most length bytes long.
func atMost(length int) func(string) string {
	return func(value string) string {
		if len(value) <= length {
			return ""
		}
		return fmt.Sprintf("must not be longer than %d characters, and has %d", length, len(value))
	}
}
