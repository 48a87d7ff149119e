package hop_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// One team on a cluster with Flux and the operator. KUBECONFIG names the cluster. The team's Stacks and its application
// run as different accounts.
func Example() {
	pulumitest.Print(oneTeam("web", nil))
	// Output:
	// account: web
	// namespace: team-web
}

func oneTeam(name string, quota pulumi.StringMap, opts ...pulumi.ResourceOption) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		kind, err := hop.NewPolicyKind(ctx, "tenant-policies")
		if err != nil {
			return err
		}
		web, err := hop.NewHop(ctx, name, &hop.HopArgs{
			Namespace: "team-web",
			Account:   "web",
			Roles:     []string{"edit"},
			Accounts:  []hop.Account{{Name: "infra", Roles: []string{"view"}, Path: "./infra"}},
			Operator:  hop.Operator{Namespace: pulumi.String("pulumi-kubernetes-operator"), Account: pulumi.String("pulumi-operator"), Role: "view"},
			Source:    hop.Source{URL: pulumi.String("https://git.example.com/web.git"), Branch: pulumi.String("main"), Path: pulumi.String("./"), Webhook: true},
			Quota:     quota,
			Policy:    &hop.Policy{Types: []string{"gcp:sql/*", "kubernetes:core/v1:Secret"}, StackAccounts: []string{"infra"}, Contact: pulumi.String("the platform team")},
			Context: handoff.Tenant{
				BackendURL: pulumi.String("gs://example-web"), Passphrase: pulumi.String("canary-passphrase"), GoogleCredentials: pulumi.String(""),
				Project: pulumi.String("example"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("shared"),
			},
		}, append(opts, pulumi.DependsOn([]pulumi.Resource{kind}))...)
		if err != nil {
			return err
		}
		ctx.Export("namespace", web.Namespace)
		ctx.Export("account", web.Account)
		return nil
	}
}
