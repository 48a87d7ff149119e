// Package inputs turns what a component's caller may leave out into inputs that are left out.
package inputs

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// Optional is the input, or no input where the caller gave none.
func Optional(input pulumi.StringInput) pulumi.StringPtrInput {
	if input == nil {
		return nil
	}
	return input.ToStringOutput().ToStringPtrOutput()
}

// NonEmpty is the text, or no input where it is empty.
func NonEmpty(text string) pulumi.StringPtrInput {
	if text == "" {
		return nil
	}
	return pulumi.String(text)
}

// Given is the args of a component, or empty ones where the caller gave none: then the component's own check names every
// field that must be given.
func Given[Args any](args *Args) *Args {
	if args == nil {
		return new(Args)
	}
	return args
}
