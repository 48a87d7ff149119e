package platform

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// How long the end of an object may take. What is in a namespace goes with it, Flux's finalizers among it.
const (
	objectDeleteTimeout    = "30s"
	namespaceDeleteTimeout = "3m"
)

// boundDeletes bounds the wait for the end of each object in the cluster whose component sets no bound of its own. The
// Kubernetes provider misses an end that comes between its first look and its watch, and would then wait for ten minutes;
// when the time is over it looks once more.
func boundDeletes(ctx *pulumi.Context) error {
	return ctx.RegisterStackTransformation(func(args *pulumi.ResourceTransformationArgs) *pulumi.ResourceTransformationResult {
		if !strings.HasPrefix(args.Type, "kubernetes:") {
			return nil
		}
		given, err := pulumi.NewResourceOptions(args.Opts...)
		if err != nil || given.CustomTimeouts != nil {
			return nil
		}
		timeouts := &pulumi.CustomTimeouts{Delete: objectDeleteTimeout}
		if args.Type == "kubernetes:core/v1:Namespace" {
			timeouts.Delete = namespaceDeleteTimeout
		}
		return &pulumi.ResourceTransformationResult{Props: args.Props, Opts: append(slices.Clip(args.Opts), pulumi.Timeouts(timeouts))}
	})
}
