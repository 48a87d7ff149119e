// Package shell quotes words for a POSIX shell.
package shell

import (
	"regexp"
	"strings"
)

// Quote quotes a word, so that a shell reads it literally.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word quotes a word only if a shell would not read it literally.
func Word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return Quote(s)
}
