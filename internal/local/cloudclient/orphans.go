package cloudclient

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/operator/engine/settle"
)

const (
	keyType     = "gcp:serviceaccount/key:Key"
	clusterType = "gcp:container/cluster:Cluster"

	// defaultPool is the node pool that every new cluster has. The provider deletes it at the end of the cluster's
	// creation if the program asks for that.
	defaultPool    = "default-pool"
	clusterTimeout = 5 * time.Minute
	clusterPoll    = 200 * time.Millisecond
)

// DeleteOrphans deletes resources that a killed run created and that the layer's state does not contain, because the next
// run would not find them: the keys of service accounts whose creation was interrupted, and the default node pool of a
// cluster if a kill prevented the provider from deleting it. The accounts belong to the layer, so every key outside the
// layer's state is an orphan; nobody has received its private key. held reports whether the layer's state contains a key.
func (c Client) DeleteOrphans(ctx context.Context, creations []settle.Creation, held func(id string) bool) error {
	for _, creation := range creations {
		var err error
		switch account, _ := creation.Inputs["serviceAccountId"].(string); {
		case creation.Type == keyType && account != "":
			if !strings.Contains(account, "/") {
				account = "projects/-/serviceAccounts/" + account
			}
			err = c.deleteKeys(ctx, account, held)
		case creation.Type == clusterType && creation.ID != "" && creation.Inputs["removeDefaultNodePool"] == true:
			err = c.deleteDefaultPool(ctx, creation.ID)
		}
		if err != nil {
			return fmt.Errorf("delete the rest of an interrupted run of %s: %w", creation.URN, err)
		}
	}
	return nil
}

// deleteKeys deletes the user-managed keys of an account that the layer's state does not contain.
func (c Client) deleteKeys(ctx context.Context, account string, held func(string) bool) error {
	options, err := c.options(ctx, "GOOGLE_IAM_CUSTOM_ENDPOINT")
	if err != nil {
		return err
	}
	service, err := iam.NewService(ctx, options...)
	if err != nil {
		return err
	}
	keys, err := service.Projects.ServiceAccounts.Keys.List(account).KeyTypes("USER_MANAGED").Context(ctx).Do()
	if refusedWith(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, key := range keys.Keys {
		if held(key.Name) {
			continue
		}
		if _, err := service.Projects.ServiceAccounts.Keys.Delete(key.Name).Context(ctx).Do(); err != nil && !refusedWith(err, http.StatusNotFound) {
			return err
		}
	}
	return nil
}

// deleteDefaultPool waits for the cluster, which may still be provisioning, deletes the pool and waits until it is
// gone.
func (c Client) deleteDefaultPool(ctx context.Context, cluster string) error {
	options, err := c.options(ctx, "GOOGLE_CONTAINER_CUSTOM_ENDPOINT")
	if err != nil {
		return err
	}
	service, err := container.NewService(ctx, options...)
	if err != nil {
		return err
	}
	clusters := service.Projects.Locations.Clusters
	return wait.PollUntilContextTimeout(ctx, clusterPoll, clusterTimeout, true, func(ctx context.Context) (bool, error) {
		c, err := clusters.Get(cluster).Context(ctx).Do()
		if err != nil || c.Status == "PROVISIONING" {
			return refusedWith(err, http.StatusNotFound), ignore(err, http.StatusNotFound)
		}
		if !slices.ContainsFunc(c.NodePools, func(p *container.NodePool) bool { return p.Name == defaultPool }) {
			return true, nil
		}
		// The API rejects the call while another operation is in progress.
		_, err = clusters.NodePools.Delete(cluster + "/nodePools/" + defaultPool).Context(ctx).Do()
		return false, ignore(err, http.StatusNotFound, http.StatusBadRequest, http.StatusConflict)
	})
}
