// Package inputs converts optional arguments of components to optional inputs of resources.
package inputs

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// Optional returns the input, or a nil input if it is nil.
func Optional(input pulumi.StringInput) pulumi.StringPtrInput {
	if input == nil {
		return nil
	}
	return input.ToStringOutput().ToStringPtrOutput()
}

// NonEmpty returns the text as an input, or a nil input if the text is empty.
func NonEmpty(text string) pulumi.StringPtrInput {
	if text == "" {
		return nil
	}
	return pulumi.String(text)
}

// Given returns args, or empty arguments if args is nil. So the component's own check names every missing field.
func Given[Args any](args *Args) *Args {
	if args == nil {
		return new(Args)
	}
	return args
}
