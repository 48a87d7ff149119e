package engine

import "strconv"

// Options holds settings of the pulumi command. An operation ignores the settings that
// do not apply to it.
type Options struct {
	// Parallel bounds how many resources pulumi processes concurrently. Zero means
	// pulumi's default.
	Parallel int

	// Message is the update's message in the backend's history.
	Message string

	// ExpectNoChanges makes Up, Preview and Refresh fail if they find a change.
	ExpectNoChanges bool

	// Replace lists the URNs of resources that Up, Preview and Plan replace.
	Replace []string

	// ContinueOnError makes Up and Destroy continue with other resources after a failure.
	ContinueOnError bool

	// ChangeSecretsProvider makes Up first reencrypt the stack with the request's
	// SecretsProvider.
	ChangeSecretsProvider bool

	// Remove makes Destroy remove the stack from its backend after it has destroyed
	// everything.
	Remove bool
}

// ofPreview returns the options of a preview that comes before an operation and must not fail because of what it shows.
func (o Options) ofPreview() Options {
	o.ExpectNoChanges, o.ContinueOnError, o.Remove = false, false, false
	return o
}

// arguments returns the flags of the options that apply to an operation. It omits the others, because pulumi fails for a flag that
// the operation does not have.
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
	if changes || operation == Plan {
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
