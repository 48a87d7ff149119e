package policy

import (
	"fmt"
	"strings"
)

// resourceID returns the ID that the official provider gives to a member or binding: the parts and the condition,
// separated by slashes.
func resourceID(parts []string, cond *condition) string {
	if cond != nil {
		parts = append(parts, cond.Title, cond.Description, cond.Expression)
	}
	return strings.Join(parts, "/")
}

// parseImportID splits the ID with which the official provider imports a member or binding: a number of words, then
// optionally the title of the condition, separated by spaces.
func parseImportID(id string, words int) (parts []string, title string, err error) {
	fields := strings.Fields(id)
	if len(fields) < words {
		return nil, "", fmt.Errorf(
			"import ID %q must be %d words separated by spaces (object, role and, for a member, the member), then the condition's title if there is one",
			id, words)
	}
	return fields[:words], strings.Join(fields[words:], " "), nil
}
