// Package message turns the output of Pulumi into one line for the users of the operator, without secrets.
package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Size bounds the one line of a failure's message, in bytes.
const Size = 1000

var (
	ansi = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]|<\\{%[^%]*%\\}>")

	// counted matches the prefix by which providers introduce a list of errors.
	counted = regexp.MustCompile(`^(error: )?(\d+ errors? occurred: ?)(\* )?`)
)

// Tidy joins the lines of a message, and removes colours, printed lines of files and counts of errors.
func Tidy(s string) string {
	return counted.ReplaceAllString(OneLine(excerpt.ReplaceAllString(ansi.ReplaceAllString(s, ""), "")), "")
}

// OneLine joins the lines of a text.
func OneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

// Shorten shortens a text to Size bytes and appends an ellipsis.
func Shorten(s string) string {
	if len(s) <= Size {
		return s
	}
	cut := Size
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// longestName bounds the length of a name in a message, in bytes.
const longestName = 50

// ShortName returns a name in one line, shortened for a message.
func ShortName(name string) string {
	if name = OneLine(name); len(name) > longestName {
		return strings.ToValidUTF8(name[:longestName], "") + "..."
	}
	return name
}

// YAMLFault returns in one line why a file is invalid. YAMLFault omits details of the YAML decoder.
func YAMLFault(err error) string {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Sprintf("%s is of type %s", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(strings.TrimPrefix(OneLine(err.Error()), "error converting YAML to JSON: "), "yaml: ")
}
