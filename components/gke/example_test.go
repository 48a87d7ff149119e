package gke_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// A zonal cluster without deletion protection.
func Example() {
	pulumitest.Print(smallCluster(1))
	// Output:
	// kubeconfig: [secret]
}

func smallCluster(nodeCount int) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		unprotected := false
		cluster, err := gke.NewCluster(ctx, "shop", &gke.ClusterArgs{
			Name:               pulumi.String("shop"),
			Project:            pulumi.String("strata-local"),
			Location:           pulumi.String("europe-west1-b"),
			NodeCount:          pulumi.Int(nodeCount),
			DeletionProtection: &unprotected,
		})
		if err != nil {
			return err
		}
		ctx.Export("kubeconfig", cluster.Kubeconfig)
		return nil
	}
}
