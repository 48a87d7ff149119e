package layers_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/local/cloudtest"
)

// TestRefreshTypesReadsTheResourcesOfTheTypes deletes a bucket and an account behind the back of their stack, by a destroy with
// a copy of the state.
func TestRefreshTypesReadsTheResourcesOfTheTypes(t *testing.T) {
	const bucketType, accountType = "gcp:storage/bucket:Bucket", "gcp:serviceaccount/account:Account"
	cloud := cloudtest.Start(t)
	runner, layer := cloud.Runner(t, cloud.Owner), cloudtest.Program(func(ctx *pulumi.Context) error {
		if _, err := storage.NewBucket(ctx, "bucket", &storage.BucketArgs{Name: pulumi.String("lost"), Location: pulumi.String("EU")}); err != nil {
			return err
		}
		_, err := serviceaccount.NewAccount(ctx, "account", &serviceaccount.AccountArgs{AccountId: pulumi.String("lost-account")})
		return err
	})
	if err := runner.RefreshTypes(t.Context(), layer, nil, bucketType); err != nil {
		t.Errorf("before the first up: %v", err)
	}
	cloudtest.Up(t, runner, layer)
	backend, other := strings.TrimPrefix(runner.Env["PULUMI_BACKEND_URL"], "file://"), t.TempDir()
	if err := os.CopyFS(filepath.Join(other, ".pulumi", "stacks"), os.DirFS(filepath.Join(backend, ".pulumi", "stacks"))); err != nil {
		t.Fatal(err)
	}
	copied := runner.With(map[string]string{"PULUMI_BACKEND_URL": "file://" + other})
	copied.WorkDir = func(layer string) string { return filepath.Join(other, layer) }
	if _, err := copied.Destroy(t.Context(), layer, nil); err != nil {
		t.Fatal(err)
	}
	if err := runner.RefreshTypes(t.Context(), layer, nil, bucketType, "example:index:None"); err != nil {
		t.Fatal(err)
	}
	state, err := runner.Deployment(t.Context(), layer)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range state.Resources {
		if r.Type == bucketType || r.Type == accountType {
			got[string(r.Type)] = true
		}
	}
	if want := map[string]bool{accountType: true}; !maps.Equal(got, want) {
		t.Errorf("the state contains %v, want %v", got, want)
	}
}
