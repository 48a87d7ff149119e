package statebucket_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	bucketType = "gcp:storage/bucket:Bucket"
	memberType = "gcp:storage/bucketIAMMember:BucketIAMMember"
)

func given() *statebucket.BucketArgs {
	return &statebucket.BucketArgs{
		Name: pulumi.String("acme-dev-strata-web"), Project: pulumi.String("acme-dev"), Location: pulumi.String("europe-west1"),
		Member: pulumi.String("serviceAccount:team-web@acme-dev.iam.gserviceaccount.com"),
	}
}

func run(engine *pulumitest.Engine, args *statebucket.BucketArgs) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		bucket, err := statebucket.NewBucket(ctx, "team-web-state", args, pulumi.Protect(true))
		if err != nil {
			return err
		}
		ctx.Export("url", bucket.URL)
		return nil
	})
}

func TestABucketHasOneMemberAndKeepsItsObjects(t *testing.T) {
	engine := &pulumitest.Engine{Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		bucketType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"url": resource.NewProperty("gs://" + args.Inputs["name"].StringValue())}
		},
	}}
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	component := engine.Get(t, statebucket.Type, "team-web-state")
	bucket, member := engine.Get(t, bucketType, "team-web-state-bucket"), engine.Get(t, memberType, "team-web-state-objects")
	for _, child := range []pulumitest.Resource{bucket, member} {
		if child.Parent != component.URN || !child.Protect {
			t.Errorf("%s is a child of %s, protected: %v", child.Name, child.Parent, child.Protect)
		}
	}
	for path, want := range map[string]any{
		"name": "acme-dev-strata-web", "project": "acme-dev", "location": "europe-west1", "uniformBucketLevelAccess": true,
		"publicAccessPrevention": "enforced", "versioning.enabled": true, "forceDestroy": false,
		"lifecycleRules[0].action.type": "Delete", "lifecycleRules[0].condition.daysSinceNoncurrentTime": 90.0,
		"lifecycleRules[0].condition.withState": "ARCHIVED",
	} {
		if got, _ := pulumitest.Plain(t, bucket.Inputs, path); got != want {
			t.Errorf("the bucket's %s is %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]any{
		"bucket": "acme-dev-strata-web", "role": "roles/storage.objectUser",
		"member": "serviceAccount:team-web@acme-dev.iam.gserviceaccount.com",
	} {
		if got, _ := pulumitest.Plain(t, member.Inputs, path); got != want {
			t.Errorf("the binding's %s is %v, want %v", path, got, want)
		}
	}
	if len(engine.OfType(memberType)) != 1 {
		t.Error("another member may use the bucket too")
	}
	if !member.DependsOn(bucket) || member.DeletedWith != bucket.URN {
		t.Errorf("the binding depends on %v and is deleted with %q", member.Dependencies, member.DeletedWith)
	}
	if url := engine.Output(t, "url"); url.Value != "gs://acme-dev-strata-web" || url.Secret {
		t.Errorf("URL is %+v", url)
	}
}

func TestBadArgsAreRefusedAllAtOnce(t *testing.T) {
	err := run(&pulumitest.Engine{}, &statebucket.BucketArgs{KeptDays: pulumi.Int(-1)})
	for _, want := range []string{"name must be 3 to 63", "project must", "location must", "member must", "KeptDays is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}

func TestNamesThatNoBucketCanHaveAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"acme-dev-strata-web": "", "ab": "3 to 63", "Acme": "3 to 63", "-acme": "3 to 63", "acme.dev": "3 to 63",
		"goog-acme": "goog", "acme-g00gle": "google", strings.Repeat("a", 64): "3 to 63",
	} {
		if got := statebucket.CheckName(name); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
