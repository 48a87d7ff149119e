package local

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/operator/engine/settle"
)

const (
	keyType     = "gcp:serviceaccount/key:Key"
	clusterType = "gcp:container/cluster:Cluster"

	// defaultPool is the node pool that every new cluster has. The provider deletes it at the end of the cluster's
	// creation if the program asks for that.
	defaultPool    = "default-pool"
	clusterTimeout = 5 * time.Minute
)

// lost deletes the resources of killed runs in the emulated Google Cloud that the next run would not find.
type lost struct{ googleURL, credentials string }

// delete deletes the keys of service accounts whose creation was interrupted, because nobody got the private part. The
// accounts belong to the layer, so a key outside the layer's state is such a key. delete also deletes the default node
// pool of a cluster if a kill prevented the provider from deleting it.
func (l lost) delete(ctx context.Context, creations []settle.Creation, held func(id string) bool) error {
	for _, creation := range creations {
		var err error
		switch account, _ := creation.Inputs["serviceAccountId"].(string); {
		case creation.Type == keyType && account != "":
			if !strings.Contains(account, "/") {
				account = "projects/-/serviceAccounts/" + account
			}
			err = l.deleteKeys(ctx, account, held)
		case creation.Type == clusterType && creation.ID != "" && creation.Inputs["removeDefaultNodePool"] == true:
			err = l.deleteDefaultPool(ctx, creation.ID)
		}
		if err != nil {
			return fmt.Errorf("delete what an interrupted run left of %s: %w", creation.URN, err)
		}
	}
	return nil
}

func (l lost) deleteKeys(ctx context.Context, account string, held func(string) bool) error {
	options, err := l.client(ctx, "GOOGLE_IAM_CUSTOM_ENDPOINT")
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
func (l lost) deleteDefaultPool(ctx context.Context, cluster string) error {
	options, err := l.client(ctx, "GOOGLE_CONTAINER_CUSTOM_ENDPOINT")
	if err != nil {
		return err
	}
	service, err := container.NewService(ctx, options...)
	if err != nil {
		return err
	}
	clusters := service.Projects.Locations.Clusters
	return wait.PollUntilContextTimeout(ctx, lockPoll, clusterTimeout, true, func(ctx context.Context) (bool, error) {
		c, err := clusters.Get(cluster).Context(ctx).Do()
		if err != nil || c.Status == "PROVISIONING" {
			return refusedWith(err, http.StatusNotFound), ignore(err, http.StatusNotFound)
		}
		if !slices.ContainsFunc(c.NodePools, func(p *container.NodePool) bool { return p.Name == defaultPool }) {
			return true, nil
		}
		// The API refuses while another operation is in progress.
		_, err = clusters.NodePools.Delete(cluster + "/nodePools/" + defaultPool).Context(ctx).Do()
		return false, ignore(err, http.StatusNotFound, http.StatusBadRequest, http.StatusConflict)
	})
}

// client returns the options of a client of an emulated API, authenticated as the engineer. The client adds the
// version to the endpoint itself.
func (l lost) client(ctx context.Context, endpoint string) ([]option.ClientOption, error) {
	raw, err := os.ReadFile(l.credentials)
	if err != nil {
		return nil, err
	}
	engineer, err := google.CredentialsFromJSONWithType(ctx, raw, google.AuthorizedUser, iam.CloudPlatformScope)
	if err != nil {
		return nil, err
	}
	url := cloud.Endpoints(l.googleURL)[endpoint]
	for _, version := range []string{"sql/v1beta4/", "v1/"} {
		url = strings.TrimSuffix(url, version)
	}
	return []option.ClientOption{option.WithTokenSource(engineer.TokenSource), option.WithEndpoint(url)}, nil
}

func refusedWith(err error, codes ...int) bool {
	var refusal *googleapi.Error
	return errors.As(err, &refusal) && slices.Contains(codes, refusal.Code)
}

func ignore(err error, codes ...int) error {
	if refusedWith(err, codes...) {
		return nil
	}
	return err
}
