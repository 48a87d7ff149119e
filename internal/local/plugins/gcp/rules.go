package gcp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

// The rules of the resources say what the official provider does. Source: the documentation and the schemas of the
// version of the google-beta provider of Terraform that the official plugin wraps, 5.42.0.

// fromProvider is an input that names where the object is and that the provider's configuration fills in.
func fromProvider() provider.Rule {
	return provider.Rule{Replace: true, Computed: true, Same: sameName}
}

// sameName compares names that may be written as the last part of a path or link.
func sameName(a, b string) bool { return lastPart(a) == lastPart(b) }

func lastPart(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// sameAs says that nothing means a certain value.
func sameAs(value string) func(a, b string) bool {
	return func(a, b string) bool { return a == b || a == "" && b == value || b == "" && a == value }
}

// matching says of a string whether it fits a pattern, which the words describe.
func matching(pattern *regexp.Regexp, words string) func(string) string {
	return func(value string) string {
		if pattern.MatchString(value) {
			return ""
		}
		return fmt.Sprintf("must be %s, not %q", words, value)
	}
}

// atMost says of a string whether it is short enough.
func atMost(length int) func(string) string {
	return func(value string) string {
		if len(value) <= length {
			return ""
		}
		return fmt.Sprintf("must not be longer than %d characters, and has %d", length, len(value))
	}
}
