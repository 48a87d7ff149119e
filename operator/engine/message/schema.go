package message

import (
	"regexp"
	"strings"
)

// schemaError matches a line about a part of a project's file that violates pulumi's schema.
var schemaError = regexp.MustCompile(`(?m)^\s*\* #/?(\S*?): (.+)$`)

// SchemaFault returns the innermost schema fault that pulumi lists in its log for a project's file, and the path of keys of its
// node. fault is empty if pulumi lists none. Faults of the enclosing nodes only say that something inside is invalid. text is
// the message of the failure.
func SchemaFault(text, log string) (path []string, fault string) {
	if !strings.HasPrefix(text, "could not validate '") {
		return nil, ""
	}
	for _, match := range schemaError.FindAllStringSubmatch(log, -1) {
		if strings.HasPrefix(match[2], "doesn't validate with") || strings.HasSuffix(match[2], " failed") {
			continue
		}
		keys := strings.FieldsFunc(match[1], func(c rune) bool { return c == '/' })
		if fault == "" || len(keys) > len(path) {
			path, fault = keys, Below(strings.Join(keys, "."), match[2])
		}
	}
	return path, fault
}
