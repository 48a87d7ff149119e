package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// stackName is what Pulumi takes for the name of a stack. None begins with a dot, which would be a path, or with a
	// hyphen: to pulumi an argument that does is an option.
	stackName = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,99}/){0,2}[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

	// projectName is the same for a project, whose name is that of a folder in the backend.
	projectName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

	// variableName is what Kubernetes takes for the name of a variable: printable ASCII without the equals sign.
	variableName = regexp.MustCompile(`^[ -<>-~]+$`)
)

// checkNames refuses what would be something else as an argument, or a path.
func (r Request) checkNames() error {
	if !stackName.MatchString(r.Stack) {
		return fmt.Errorf("stack name %q is invalid: use letters, digits, '-', '_' and '.', optionally after an organization and '/', "+
			"each part with a letter, digit or '_' first and no more than 100 characters", r.Stack)
	}
	for _, text := range slices.Concat(r.Targets, r.Options.Replace, []string{r.Path, r.Options.Message, r.SecretsProvider}) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%q has a zero byte in it, which ends an argument: remove it", text)
		}
	}
	return nil
}

// CheckVariable says why a request's environment must not have a variable of this
// name; nil means that it may. Reserved are variables that choose a program, a file or
// an identity. Pulumi's variables for debugging would let a run use the plugins of
// another run, with that run's identity.
func CheckVariable(name string) error {
	switch name {
	case "PATH", "HOME", "TMPDIR", "KUBECONFIG", "PULUMI_HOME", "PULUMI_DEBUG_PROVIDERS", "PULUMI_DEBUG_LANGUAGES":
		return errReserved
	}
	if strings.HasPrefix(name, "LD_") {
		return errReserved
	}
	if !variableName.MatchString(name) {
		return errors.New("is no name of a variable")
	}
	return nil
}

var errReserved = errors.New("is reserved: the operator sets it itself")
