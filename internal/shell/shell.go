// Package shell writes words for a POSIX shell.
package shell

import (
	"regexp"
	"strings"
)

// Quote quotes a word, so that a shell takes it as it is.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word is a word as somebody would write it: quoted only where a shell would not take it as it is.
func Word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return Quote(s)
}
