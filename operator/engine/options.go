package engine

import "strconv"

// Options are settings of the pulumi command. Those that an operation does not
// know are left out of it.
type Options struct {
	// Parallel is how many resources are handled at once; pulumi's default when 0.
	Parallel int

	// Message is recorded with the update in the backend's history.
	Message string

	// ExpectNoChanges fails Up, Preview and Refresh when they find a change.
	ExpectNoChanges bool

	// Replace lists URNs of resources that Up and Preview replace.
	Replace []string

	// ContinueOnError goes on with other resources after a failure, for Up and
	// Destroy.
	ContinueOnError bool

	// ChangeSecretsProvider encrypts the stack anew with the request's SecretsProvider
	// before an Up.
	ChangeSecretsProvider bool

	// Remove removes the stack from its backend after a Destroy of everything.
	Remove bool
}

func (o Options) arguments(operation Operation) []string {
	var args []string
	if o.Parallel > 0 {
		args = append(args, "--parallel", strconv.Itoa(o.Parallel))
	}
	if o.Message != "" {
		args = append(args, "--message", o.Message)
	}
	changes := operation == Up || operation == Preview
	if o.ExpectNoChanges && (changes || operation == Refresh) {
		args = append(args, "--expect-no-changes")
	}
	if changes {
		for _, urn := range o.Replace {
			args = append(args, "--replace", urn)
		}
	}
	if o.ContinueOnError && (operation == Up || operation == Destroy) {
		args = append(args, "--continue-on-error")
	}
	if o.Remove && operation == Destroy {
		args = append(args, "--remove")
	}
	return args
}
