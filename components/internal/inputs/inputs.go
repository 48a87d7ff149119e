// Package inputs reads the arguments of components and converts them to inputs of resources.
//
// A plain input, such as pulumi.String("a"), has its value before the program registers a resource, so a component can
// check it at once. A computed input, such as another resource's output, has its value only later.
package inputs

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// Given returns args, or empty arguments if args is nil, so that the component's own check names every missing field.
func Given[Args any](args *Args) *Args {
	if args == nil {
		return new(Args)
	}
	return args
}

// Missing reports whether the input is nil or an empty plain text. Components treat both alike.
func Missing(input pulumi.StringInput) bool {
	text, plain := input.(pulumi.String)
	return input == nil || plain && text == ""
}

// Or returns the input, or the fallback if the input is missing.
func Or(input, fallback pulumi.StringInput) pulumi.StringInput {
	if Missing(input) {
		return fallback
	}
	return input
}

// Text returns the value of a plain input, and "" for nil and for a computed input.
func Text(input pulumi.StringInput) string {
	text, _ := input.(pulumi.String)
	return string(text)
}

// Number returns the value of a plain input, and 0 for nil. The result plain is false for a computed input.
func Number(input pulumi.IntInput) (number int, plain bool) {
	if input == nil {
		return 0, true
	}
	value, plain := input.(pulumi.Int)
	return int(value), plain
}

// Optional returns the text as an optional input: nil if the text is missing.
func Optional(input pulumi.StringInput) pulumi.StringPtrInput {
	if Missing(input) {
		return nil
	}
	return input.ToStringOutput().ToStringPtrOutput()
}

// OptionalMap returns the map, or nil if it is a plain map without keys.
func OptionalMap(input pulumi.StringMapInput) pulumi.StringMapInput {
	if plain, ok := input.(pulumi.StringMap); ok && len(plain) == 0 {
		return nil
	}
	return input
}

// OptionalInt returns the number as an optional input: nil stays nil.
func OptionalInt(input pulumi.IntInput) pulumi.IntPtrInput {
	if input == nil {
		return nil
	}
	return input.ToIntOutput().ToIntPtrOutput()
}

// OptionalBool returns the switch as an optional input: nil stays nil.
func OptionalBool(input pulumi.BoolInput) pulumi.BoolPtrInput {
	if input == nil {
		return nil
	}
	return input.ToBoolOutput().ToBoolPtrOutput()
}
