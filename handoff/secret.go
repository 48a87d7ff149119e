package handoff

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// Secret is a value that must not be seen: it prints as a placeholder, whatever verb or struct it is printed with.
type Secret string

// hidden is what a Secret prints as.
const hidden = "[secret]"

// String implements fmt.Stringer without the value.
func (Secret) String() string { return hidden }

// GoString implements fmt.GoStringer without the value.
func (Secret) GoString() string { return hidden }

// Input is the value for a resource or an output, marked secret so that the engine encrypts it in the state.
func (s Secret) Input() pulumi.StringOutput {
	return pulumi.ToSecret(pulumi.String(string(s))).(pulumi.StringOutput)
}
