package gcp_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/kms"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/local/plugins/gcp"
)

// registrations records the outputs that the SDK marks as secret, by type. It is safe for concurrent use, because
// programs register resources concurrently.
type registrations struct {
	mu      sync.Mutex
	secrets map[string][]string
}

func (r *registrations) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[args.TypeToken] = args.RegisterRPC.GetAdditionalSecretOutputs()
	return "it", args.Inputs, nil
}

func (*registrations) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) {
	return resource.PropertyMap{}, nil
}

// The SDK lists the outputs that are secret as a whole. It does not list the key of a cluster's client certificate,
// which is a part of an output and which only the provider marks as secret.
func TestSecretsAreThoseOfTheOfficialProvider(t *testing.T) {
	known := &registrations{secrets: map[string][]string{}}
	err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		s := pulumi.String("x")
		account := pulumi.String("projects/p/serviceAccounts/a@p.iam.gserviceaccount.com")
		for _, make := range []func() error{
			func() error { _, err := container.NewCluster(ctx, "it", nil); return err },
			func() error {
				_, err := container.NewNodePool(ctx, "it", &container.NodePoolArgs{Cluster: s})
				return err
			},
			func() error {
				_, err := serviceaccount.NewAccount(ctx, "it", &serviceaccount.AccountArgs{AccountId: s})
				return err
			},
			func() error {
				_, err := serviceaccount.NewKey(ctx, "it", &serviceaccount.KeyArgs{ServiceAccountId: account})
				return err
			},
			func() error {
				_, err := serviceaccount.NewIAMBinding(ctx, "it", &serviceaccount.IAMBindingArgs{ServiceAccountId: account, Role: s, Members: pulumi.StringArray{}})
				return err
			},
			func() error {
				_, err := serviceaccount.NewIAMMember(ctx, "it", &serviceaccount.IAMMemberArgs{ServiceAccountId: account, Role: s, Member: s})
				return err
			},
			func() error {
				_, err := kms.NewCryptoKeyIAMMember(ctx, "it", &kms.CryptoKeyIAMMemberArgs{CryptoKeyId: s, Role: s, Member: s})
				return err
			},
			func() error {
				_, err := projects.NewIAMMember(ctx, "it", &projects.IAMMemberArgs{Project: s, Role: s, Member: s})
				return err
			},
			func() error {
				_, err := projects.NewIAMCustomRole(ctx, "it", &projects.IAMCustomRoleArgs{RoleId: s, Title: s, Permissions: pulumi.StringArray{}})
				return err
			},
			func() error { _, err := projects.NewService(ctx, "it", &projects.ServiceArgs{Service: s}); return err },
			func() error {
				_, err := sql.NewDatabaseInstance(ctx, "it", &sql.DatabaseInstanceArgs{DatabaseVersion: s})
				return err
			},
			func() error { _, err := sql.NewDatabase(ctx, "it", &sql.DatabaseArgs{Instance: s}); return err },
			func() error { _, err := sql.NewUser(ctx, "it", &sql.UserArgs{Instance: s}); return err },
			func() error { _, err := storage.NewBucket(ctx, "it", &storage.BucketArgs{Location: s}); return err },
			func() error {
				_, err := storage.NewBucketIAMMember(ctx, "it", &storage.BucketIAMMemberArgs{Bucket: s, Role: s, Member: s})
				return err
			},
		} {
			if err := make(); err != nil {
				return err
			}
		}
		return nil
	}, pulumi.WithMocks("project", "stack", known))
	if err != nil {
		t.Fatal(err)
	}
	resources := gcp.Package().Resources
	if got, want := slices.Sorted(maps.Keys(known.secrets)), slices.Sorted(maps.Keys(resources)); !slices.Equal(got, want) {
		t.Fatalf("the test registered %q, want %q", got, want)
	}
	for token, r := range resources {
		var own []string
		for path, rule := range r.Rules {
			if rule.Secret && !strings.Contains(path, ".") {
				own = append(own, path)
			}
		}
		slices.Sort(own)
		if want := slices.Sorted(slices.Values(known.secrets[token])); !slices.Equal(own, want) {
			t.Errorf("the secrets of %s are %q, and in the official SDK %q", token, own, want)
		}
	}
}
