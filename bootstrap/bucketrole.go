package bootstrap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/teams"
)

// BucketRole is the ID of the project's custom role of the catalogue's entries that create buckets for teams.
const BucketRole = "strataBuckets"

// BucketPermissions returns the permissions of that role, sorted. The Program of an entry creates a bucket, gives the team
// access, and deletes the objects of a bucket that it deletes. It reads and writes no object.
func BucketPermissions() []string {
	return []string{
		"storage.buckets.create",
		"storage.buckets.delete",
		"storage.buckets.get",
		"storage.buckets.getIamPolicy",
		"storage.buckets.setIamPolicy",
		"storage.buckets.update",
		"storage.objects.delete",
		"storage.objects.list",
	}
}

// sellsBuckets reports whether a team is an entry of the catalogue whose Program may declare buckets. A team of teams.yaml
// gets no role for that: the role covers the buckets of all teams.
func sellsBuckets(team teams.Team) bool { return team.Offer != "" && team.MayDeclare("gcp", "storage") }

// newBucketRole creates the role if an entry needs it, and returns nil otherwise.
func newBucketRole(ctx *pulumi.Context, config Config, all []teams.Team, opts ...pulumi.ResourceOption) (*projects.IAMCustomRole, error) {
	if !slices.ContainsFunc(all, sellsBuckets) {
		return nil, nil
	}
	return projects.NewIAMCustomRole(ctx, "bucket-role", &projects.IAMCustomRoleArgs{
		RoleId:      pulumi.String(BucketRole),
		Title:       pulumi.String("Strata buckets"),
		Description: pulumi.String("Buckets that teams order."),
		Permissions: pulumi.ToStringArray(BucketPermissions()),
		Project:     pulumi.String(config.Project),
	}, opts...)
}

// grantBuckets gives the account of an entry the role, for all buckets but those with the state of the teams.
func (t tenant) grantBuckets(ctx *pulumi.Context, account *identity.Identity, opts ...pulumi.ResourceOption) error {
	if !sellsBuckets(t.team) {
		return nil
	}
	args := &projects.IAMMemberArgs{Project: pulumi.String(t.config.Project), Role: t.buckets.Name, Member: account.Member}
	if t.config.TenantBackend == "" {
		states, _, _ := strings.Cut(t.config.bucket(TeamPlaceholder), TeamPlaceholder)
		args.Condition = &projects.IAMMemberConditionArgs{
			Title:      pulumi.String("not the state of Stacks"),
			Expression: pulumi.String(fmt.Sprintf("!resource.name.startsWith(%q)", "projects/_/buckets/"+states)),
		}
	}
	_, err := projects.NewIAMMember(ctx, "team-"+t.team.Name+"-buckets", args, opts...)
	return err
}
