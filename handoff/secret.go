package handoff

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// Secret is a value that must not be revealed. Every format verb prints it as a placeholder, even within a struct.
type Secret string

// hidden is the printed form of a Secret.
const hidden = "[secret]"

// String implements fmt.Stringer. It returns a placeholder.
func (Secret) String() string { return hidden }

// GoString implements fmt.GoStringer. It returns a placeholder.
func (Secret) GoString() string { return hidden }

// Input returns the value for a resource or an output, marked as a secret so that the engine encrypts it in the state.
func (s Secret) Input() pulumi.StringOutput {
	return pulumi.ToSecret(pulumi.String(string(s))).(pulumi.StringOutput)
}
