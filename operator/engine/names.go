package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// stackName matches the stack names that Pulumi accepts. stackName excludes names with a leading dot, which would be paths,
// and names with a leading hyphen, which pulumi would parse as options.
var stackName = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,99}/){0,2}[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// checkNames rejects a stack name that pulumi would take for an option or a path, and arguments with a zero byte.
func (r Request) checkNames() error {
	if !stackName.MatchString(r.Stack) {
		return fmt.Errorf("stack name %q is invalid: use letters, digits, '-', '_' and '.', optionally after an organization and '/', "+
			"each part with a letter, digit or '_' first and no more than 100 characters", r.Stack)
	}
	for _, text := range slices.Concat(r.Targets, r.Options.Replace, []string{r.Path, r.Options.Message, r.SecretsProvider}) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%q contains a zero byte: remove it", text)
		}
	}
	return nil
}
