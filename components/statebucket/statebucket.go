// Package statebucket creates the bucket that stores the state of one tenant's Pulumi stacks.
//
//	bucket, err := statebucket.NewBucket(ctx, "team-web-state", &statebucket.BucketArgs{
//		Name: pulumi.String("acme-dev-strata-web"), Project: pulumi.String("acme-dev"), Location: pulumi.String("europe-west1"),
//		Member: account.Member,
//	})
//	// bucket.URL is the PULUMI_BACKEND_URL of the tenant
package statebucket

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:index:StateBucket"

// DefaultKeptDays is the number of days to keep noncurrent versions of the state when BucketArgs.KeptDays is nil.
const DefaultKeptDays = 90

// Role is the tenant's role on the bucket. It allows everything on objects except setting their policy, and nothing on
// the bucket itself.
const Role = "roles/storage.objectUser"

// BucketArgs describes a bucket. NewBucket checks plain values, Google Cloud computed ones.
type BucketArgs struct {
	// Name is the bucket's name, unique in all of Google Cloud: see CheckName. Required.
	Name pulumi.StringInput `pulumi:"name"`
	// Project is the Google Cloud project of the bucket. Required.
	Project pulumi.StringInput `pulumi:"project"`
	// Location is the region or multi-region of the state. Required. It cannot be changed later.
	Location pulumi.StringInput `pulumi:"location"`
	// Member is the tenant, in the form of a member of an IAM policy:
	// serviceAccount:web@acme-dev.iam.gserviceaccount.com. Required.
	Member pulumi.StringInput `pulumi:"member"`
	// KeptDays is the number of days to keep noncurrent versions of the state, at least 1; nil means DefaultKeptDays.
	KeptDays pulumi.IntInput `pulumi:"keptDays,optional"`
	// ForceDestroy deletes the bucket with all of its objects. Nil means false: a bucket with objects cannot be deleted.
	ForceDestroy pulumi.BoolInput `pulumi:"forceDestroy,optional"`
}

// Bucket stores a tenant's state.
type Bucket struct {
	pulumi.ResourceState

	// Name is the bucket's name, known once the bucket exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// URL is the backend of the tenant's stacks, known once the tenant may use the bucket.
	URL pulumi.StringOutput `pulumi:"url"`
}

// NewBucket creates the bucket and grants the tenant access to it.
func NewBucket(ctx *pulumi.Context, name string, args *BucketArgs, opts ...pulumi.ResourceOption) (*Bucket, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create state bucket %s: %w", name, err)
	}
	bucket := &Bucket{}
	properties := pulumi.Map{"name": args.Name, "project": args.Project, "location": args.Location, "member": args.Member}
	if err := component.Register(ctx, Type, name, properties, bucket, opts...); err != nil {
		return nil, fmt.Errorf("create state bucket %s: %w", name, err)
	}
	if err := bucket.populate(ctx, name, args); err != nil {
		return nil, fmt.Errorf("create state bucket %s: %w", name, err)
	}
	return bucket, ctx.RegisterResourceOutputs(bucket, pulumi.Map{"name": bucket.Name, "url": bucket.URL})
}

// populate creates the bucket and the tenant's binding. URL waits for the binding, because a run before it could not open the
// backend.
func (b *Bucket) populate(ctx *pulumi.Context, name string, args *BucketArgs) error {
	kept := cmp.Or[pulumi.IntInput](args.KeptDays, pulumi.Int(DefaultKeptDays))
	resource, err := storage.NewBucket(ctx, name+"-bucket", &storage.BucketArgs{
		Name:     inputs.Optional(args.Name),
		Project:  inputs.Optional(args.Project),
		Location: args.Location,
		// Only IAM policies grant access: an object's access control list would bypass them.
		UniformBucketLevelAccess: pulumi.Bool(true),
		PublicAccessPrevention:   pulumi.String("enforced"),
		Versioning:               &storage.BucketVersioningArgs{Enabled: pulumi.Bool(true)},
		LifecycleRules: storage.BucketLifecycleRuleArray{&storage.BucketLifecycleRuleArgs{
			Action: &storage.BucketLifecycleRuleActionArgs{Type: pulumi.String("Delete")},
			Condition: &storage.BucketLifecycleRuleConditionArgs{
				DaysSinceNoncurrentTime: inputs.OptionalInt(kept), NoAge: pulumi.Bool(true), WithState: pulumi.String("ARCHIVED"),
			},
		}},
		ForceDestroy: inputs.OptionalBool(cmp.Or[pulumi.BoolInput](args.ForceDestroy, pulumi.Bool(false))),
	}, pulumi.Parent(b))
	if err != nil {
		return err
	}
	binding, err := storage.NewBucketIAMMember(ctx, name+"-objects", &storage.BucketIAMMemberArgs{
		Bucket: resource.Name,
		Role:   pulumi.String(Role),
		Member: args.Member,
		// Deleting the bucket deletes its policy.
	}, pulumi.Parent(b), pulumi.DeletedWith(resource))
	if err != nil {
		return err
	}
	b.Name = resource.Name
	b.URL = pulumi.All(resource.Url, binding.ID()).ApplyT(func(parts []any) string { return parts[0].(string) }).(pulumi.StringOutput)
	return nil
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// CheckName returns a clause that says why a bucket cannot have this name, or "". It refuses names with dots, which stand
// for a domain, and names with underscores.
func CheckName(bucket string) string {
	switch {
	case !bucketName.MatchString(bucket):
		return fmt.Sprintf("must be 3 to 63 lower-case letters, digits and hyphens, a letter or digit at both ends, not %q", bucket)
	case strings.HasPrefix(bucket, "goog"), strings.Contains(strings.ReplaceAll(bucket, "0", "o"), "google"):
		return fmt.Sprintf("must not begin with goog or contain google, as %q does", bucket)
	}
	return ""
}

func (a *BucketArgs) check() error {
	var problems []string
	if name := inputs.Text(a.Name); name != "" || inputs.Missing(a.Name) {
		if problem := CheckName(name); problem != "" {
			problems = append(problems, "name "+problem)
		}
	}
	if inputs.Missing(a.Project) {
		problems = append(problems, "project must be given")
	}
	if inputs.Missing(a.Location) {
		problems = append(problems, "location must be given")
	}
	if inputs.Missing(a.Member) {
		problems = append(problems, "member must be given")
	}
	if days, plain := inputs.Number(a.KeptDays); a.KeptDays != nil && plain && days < 1 {
		problems = append(problems, fmt.Sprintf("KeptDays is %d: at least 1 is needed", days))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
