package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// stackName matches the stack names that Pulumi accepts. stackName excludes names with a leading dot, which would be paths,
	// and names with a leading hyphen, which pulumi would parse as options.
	stackName = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,99}/){0,2}[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

	// variableName matches the names that Kubernetes accepts for an environment variable: printable ASCII without the equals
	// sign.
	variableName = regexp.MustCompile(`^[ -<>-~]+$`)
)

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

// CheckVariable returns an error if a request's environment must not have a variable of this name. Variables that choose a
// program, a file or an identity are reserved. Pulumi's debugging variables are reserved because they would let a run use
// the plugins, and so the identity, of another run.
func CheckVariable(name string) error {
	switch name {
	case "PATH", "HOME", "TMPDIR", "KUBECONFIG", "PULUMI_HOME", "PULUMI_DEBUG_PROVIDERS", "PULUMI_DEBUG_LANGUAGES":
		return errReserved
	}
	if strings.HasPrefix(name, "LD_") {
		return errReserved
	}
	if !variableName.MatchString(name) {
		return errors.New("has an invalid name")
	}
	return nil
}

var errReserved = errors.New("is reserved: the operator sets it itself")
