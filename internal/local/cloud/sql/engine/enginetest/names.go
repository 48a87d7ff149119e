// Package enginetest contains names for tests that try to break out of an instance.
package enginetest

import "strings"

// HostileNames returns names that change their meaning when they are decoded, joined to a path, folded or put into a
// statement.
func HostileNames() []string {
	return []string{
		"", " ", ".", "..", "../hr", "a/b", `a\b`, "/etc/passwd", "~", "-", "-rf", "a/main", "a@main", "a@~1", "hr/main", "hr@HEAD",
		"%2e%2e%2f%2e%2e%2fhr%2fdata%2fsalaries", "%252e%252e", "%2E%2E%5C", "%", "%00", "a%", "a?b", "a#b", "a:b", "file:a", "a;b", "a b", " a", "a ",
		"a\x00b", "a\nb", "a\tb", "a\x7fb", "\xff\xfe", "\u202ea", "\uff0e\uff0e\uff0fhr", "\u2024\u2024", "\u2160", "\u017f", "\u212a", "\u0130", "\uff28\uff32", "hr\u200b", "hr\u0301",
		"a`b", "a'b", `a"b`, "a*", "*", "a.b", ".dolt", ".doltcfg", ".dolt_dropped_databases", "$(id)", "${HOME}", "{database}",
		"mysql", "MySQL", "information_schema", "INFORMATION_SCHEMA", "performance_schema", "sys", "SYS",
		strings.Repeat("a", 65), strings.Repeat("a", 5000), strings.Repeat("%2e%2e%2f", 20) + "etc",
	}
}
