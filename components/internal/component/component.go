// Package component registers components with the Pulumi engine, and labels the Kubernetes objects that they create.
package component

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// module begins the type token of every component. A program in YAML names the component by that token.
	module = "strata:index:"
	// formerModule began the type tokens before programs in YAML could name components. The states of older platforms
	// hold it.
	formerModule = "strata:components:"
)

// Register registers a component under a type token, which begins with strata:index:. An alias names the former token, so that
// the engine finds the component and its children in an older state, and replaces none of them.
func Register(ctx *pulumi.Context, token, name string, properties pulumi.Map, component pulumi.ComponentResource, opts ...pulumi.ResourceOption) error {
	former := pulumi.Aliases([]pulumi.Alias{{Type: pulumi.String(formerModule + strings.TrimPrefix(token, module))}})
	return ctx.RegisterComponentResourceV2(token, name, properties, component, append(slices.Clone(opts), former)...)
}

// Labels returns the labels of a Kubernetes object of Strata. The caller may add to them.
func Labels() pulumi.StringMap {
	return pulumi.StringMap{
		"app.kubernetes.io/part-of":    pulumi.String("strata"),
		"app.kubernetes.io/managed-by": pulumi.String("pulumi"),
	}
}
