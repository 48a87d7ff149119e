package gke_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
)

// A cluster in one zone, whose nodes may do what nodes need and no more. It can be deleted.
func Example() { pulumi.Run(smallCluster(1)) }

func smallCluster(nodeCount int) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		nodes, err := identity.New(ctx, "nodes", &identity.Args{
			AccountID: "shop-nodes",
			Project:   pulumi.String("strata-local"),
			Roles:     []string{"roles/container.defaultNodeServiceAccount"},
		})
		if err != nil {
			return err
		}
		unprotected := false
		cluster, err := gke.New(ctx, "shop", &gke.Args{
			Name:               "shop",
			Project:            pulumi.String("strata-local"),
			Location:           pulumi.String("europe-west1-b"),
			NodeCount:          nodeCount,
			NodeServiceAccount: nodes.Email,
			DeletionProtection: &unprotected,
		})
		if err != nil {
			return err
		}
		ctx.Export("kubeconfig", cluster.Kubeconfig)
		return nil
	}
}
