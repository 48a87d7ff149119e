// Package statebucket creates the bucket that stores the state of one tenant's Pulumi stacks.
package statebucket

import (
	"errors"
	"fmt"

	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:components:StateBucket"

// DefaultKeptDays is the number of days to keep noncurrent versions of the state when Args.KeptDays is zero.
const DefaultKeptDays = 90

// Role is the tenant's role on the bucket. It allows everything on objects except setting their policy, and nothing on
// the bucket itself.
const Role = "roles/storage.objectUser"

// Args describes a bucket.
type Args struct {
	// Name is the bucket's name, unique in all of Google Cloud: see CheckName. Required.
	Name string
	// Project is the Google Cloud project of the bucket. Required.
	Project pulumi.StringInput
	// Location is the region or multi-region of the state. Required. It cannot be changed later.
	Location pulumi.StringInput
	// Member is the tenant, in the form of a member of an IAM policy:
	// serviceAccount:web@acme-dev.iam.gserviceaccount.com. Required.
	Member pulumi.StringInput
	// KeptDays is the number of days to keep noncurrent versions of the state; zero means DefaultKeptDays.
	KeptDays int
	// ForceDestroy deletes the bucket with all of its objects. Without it, a bucket with objects cannot be deleted.
	ForceDestroy bool
}

// Bucket stores a tenant's state.
type Bucket struct {
	pulumi.ResourceState

	// Name is the bucket's name, known once the bucket exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// URL is the backend of the tenant's stacks, known once the tenant may use the bucket.
	URL pulumi.StringOutput `pulumi:"url"`
}

// New creates the bucket and grants the tenant access to it.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Bucket, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make state bucket %s: %w", name, err)
	}
	bucket := &Bucket{}
	inputs := pulumi.Map{"name": pulumi.String(args.Name), "project": args.Project, "location": args.Location, "member": args.Member}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, bucket, opts...); err != nil {
		return nil, fmt.Errorf("make state bucket %s: %w", name, err)
	}
	if err := bucket.populate(ctx, name, args); err != nil {
		return nil, fmt.Errorf("make state bucket %s: %w", name, err)
	}
	return bucket, ctx.RegisterResourceOutputs(bucket, pulumi.Map{"name": bucket.Name, "url": bucket.URL})
}

func (b *Bucket) populate(ctx *pulumi.Context, name string, args *Args) error {
	kept := args.KeptDays
	if kept == 0 {
		kept = DefaultKeptDays
	}
	resource, err := storage.NewBucket(ctx, name+"-bucket", &storage.BucketArgs{
		Name:     pulumi.String(args.Name),
		Project:  args.Project.ToStringOutput().ToStringPtrOutput(),
		Location: args.Location,
		// Only IAM policies grant access: an object's access control list would bypass them.
		UniformBucketLevelAccess: pulumi.Bool(true),
		PublicAccessPrevention:   pulumi.String("enforced"),
		Versioning:               &storage.BucketVersioningArgs{Enabled: pulumi.Bool(true)},
		LifecycleRules: storage.BucketLifecycleRuleArray{&storage.BucketLifecycleRuleArgs{
			Action: &storage.BucketLifecycleRuleActionArgs{Type: pulumi.String("Delete")},
			Condition: &storage.BucketLifecycleRuleConditionArgs{
				DaysSinceNoncurrentTime: pulumi.Int(kept), NoAge: pulumi.Bool(true), WithState: pulumi.String("ARCHIVED"),
			},
		}},
		ForceDestroy: pulumi.Bool(args.ForceDestroy),
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

func (a *Args) check() error {
	var problems []string
	if problem := CheckName(a.Name); problem != "" {
		problems = append(problems, "name "+problem)
	}
	if a.Project == nil {
		problems = append(problems, "project must be given")
	}
	if a.Location == nil {
		problems = append(problems, "location must be given")
	}
	if a.Member == nil {
		problems = append(problems, "member must be given")
	}
	if a.KeptDays < 0 {
		problems = append(problems, fmt.Sprintf("old versions cannot be kept for %d days", a.KeptDays))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
