// Package deletes bounds how long the deletion of an object of the cluster may take.
package deletes

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Timeouts for the deletion of an object. Deleting a namespace includes deleting its objects, some of them with Flux's
// finalizers.
const (
	objectTimeout    = "30s"
	namespaceTimeout = "3m"
)

// Bound sets a delete timeout on every object in the cluster whose component sets none. The Kubernetes provider
// misses a deletion that happens between its first read and the start of its watch. It would then wait for ten minutes.
// It reads again when the timeout expires.
func Bound(ctx *pulumi.Context) error {
	return ctx.RegisterStackTransformation(func(args *pulumi.ResourceTransformationArgs) *pulumi.ResourceTransformationResult {
		if !strings.HasPrefix(args.Type, "kubernetes:") {
			return nil
		}
		given, err := pulumi.NewResourceOptions(args.Opts...)
		if err != nil || given.CustomTimeouts != nil {
			return nil
		}
		timeouts := &pulumi.CustomTimeouts{Delete: objectTimeout}
		if args.Type == "kubernetes:core/v1:Namespace" {
			timeouts.Delete = namespaceTimeout
		}
		return &pulumi.ResourceTransformationResult{Props: args.Props, Opts: append(slices.Clip(args.Opts), pulumi.Timeouts(timeouts))}
	})
}
