package hop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop/forms"
	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/handoff"
)

// Policy limits a team in ways that its roles cannot express. NewHop stores it for admission policies as the TenantPolicy
// named PolicyName in the team's namespace. The team may read that object, but not change it.
type Policy struct {
	// Types are the types of resources that the team's Programs may declare: a type as a Program writes it
	// (gcp:sql/user:User or gcp:sql:User), all types of a module (gcp:sql/*) or all types of a package (random:*).
	Types []string
	// StackAccounts are the accounts that the team's Stacks may run as. Each must be an account that the hop creates.
	StackAccounts []string
	// Sources are the URLs of repositories that the team's sources and Stacks may use in addition to HopArgs.Source.
	Sources pulumi.StringArray
	// RunTimeout limits a run of the team's Stacks; zero means the operator's own limit.
	RunTimeout time.Duration
	// Unfilled says what the team has to write into its Stacks because the cluster does not fill it in; nil if it does: see
	// package stackdefaults.
	Unfilled pulumi.StringInput
	// Workspace is the pod in which upstream's operator runs the team's Stacks. It also adds room for such pods to the default
	// quota. Nil means an operator that runs Stacks elsewhere.
	Workspace *Workspace
	// Orders is the number of orders of the catalogue that the team may have, by the name of the entry; none for an entry
	// that is missing.
	Orders map[string]int
	// Approval says which changes of the team's Stacks wait for an approval: data, always or never; empty means data.
	Approval string
	// AnyNames lets the team's Programs give databases and users any name, and so the names of other teams. It is for a
	// team of the platform that creates them for other teams.
	AnyNames bool
	// SecretsProvider is the only provider that may encrypt the secrets of the team's Stacks; nil means the passphrase of
	// HopArgs.Context.
	SecretsProvider pulumi.StringInput
	// Contact is the contact that the messages of the admission policies name; nil means none.
	Contact pulumi.StringInput
}

// policy creates the team's TenantPolicy.
func (b *builder) policy() error {
	if b.args.Policy == nil {
		return nil
	}
	object, err := apiextensions.NewCustomResource(b.ctx, b.name+"-policy", &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(PolicyGroup + "/" + PolicyVersion),
		Kind:        pulumi.String(PolicyKind),
		Metadata:    b.metadata(PolicyName),
		OtherFields: kubernetes.UntypedArgs{"spec": b.args.PolicySpec()},
	}, b.inside()...)
	b.allowed = []pulumi.Resource{object}
	b.beforeSync = append(b.beforeSync, object)
	return err
}

// PolicySpec returns the spec of the TenantPolicy that NewHop creates for the arguments, nil without a Policy. It is plain
// data, which encoding/json can write, if every input of the arguments is.
func (args *HopArgs) PolicySpec() pulumi.Map {
	given := args.Policy
	if given == nil {
		return nil
	}
	names, prefixes := forms.Of(given.Types)
	context := pulumi.Map{"name": pulumi.String(handoff.TenantName), "backendUrl": args.Context.BackendURL}
	if !inputs.Missing(given.SecretsProvider) {
		context["secretsProvider"] = given.SecretsProvider
	}
	if !inputs.Missing(args.GoogleAccount) && !inputs.Missing(args.GoogleAudience) {
		context["googleAccount"], context["googleAudience"] = args.GoogleAccount, args.GoogleAudience
	}
	spec := pulumi.Map{
		"team":          pulumi.String(args.Account),
		"contact":       inputs.Or(given.Contact, pulumi.String("")),
		"types":         pulumi.ToStringArray(given.Types),
		"typeNames":     pulumi.ToStringArray(names),
		"typePrefixes":  pulumi.ToStringArray(prefixes),
		"accounts":      pulumi.ToStringArray(args.accountNames()),
		"stackAccounts": pulumi.ToStringArray(given.StackAccounts),
		"sourceUrls":    append(args.Source.addresses(), given.Sources...),
		"context":       context,
	}
	if len(given.Orders) > 0 {
		orders := pulumi.Map{}
		for entry, limit := range given.Orders {
			orders[entry] = pulumi.Int(limit)
		}
		spec["orders"] = orders
	}
	if verify := args.Source.Verify; verify != nil {
		spec["verify"] = pulumi.String(verify.Mode)
	}
	if artifact := args.Source.Artifact; artifact != nil && artifact.Identity != nil {
		spec["identity"] = artifact.Identity.policy()
	}
	if given.AnyNames {
		spec["anyNames"] = pulumi.Bool(true)
	}
	if given.Approval != "" {
		spec["approval"] = pulumi.String(given.Approval)
	}
	if args.Notify != nil {
		spec["notify"] = pulumi.String(NotifyName(args.Account))
	}
	if given.RunTimeout != 0 {
		spec["runTimeout"] = pulumi.String(given.RunTimeout.String())
	}
	if given.Workspace != nil {
		spec["workspace"] = given.Workspace.parameters()
	}
	if !inputs.Missing(given.Unfilled) {
		spec["unfilled"] = given.Unfilled
	}
	return spec
}

func (p *Policy) problems(accounts []string) []string {
	var problems []string
	if p.RunTimeout < 0 {
		problems = append(problems, fmt.Sprintf("the run timeout %s is negative", p.RunTimeout))
	}
	if p.Workspace != nil {
		for _, problem := range p.Workspace.Problems() {
			problems = append(problems, "the workspace's "+problem)
		}
	}
	for _, each := range p.Types {
		head, isPattern := strings.CutSuffix(each, "*")
		if isPattern && !strings.HasSuffix(head, ":") && !strings.HasSuffix(head, "/") || !strings.Contains(each, ":") {
			problems = append(problems, fmt.Sprintf("type %q is neither a type, such as gcp:sql/user:User, nor all types of a module or package, such as gcp:sql/*", each))
		}
		if strings.HasPrefix(each, "pulumi:") {
			problems = append(problems, fmt.Sprintf("type %q is refused: with it, a Program could read other stacks, or use credentials of its own", each))
		}
	}
	if slices.ContainsFunc(p.Sources, inputs.Missing) {
		problems = append(problems, "a URL in the policy's Sources is empty")
	}
	for _, account := range p.StackAccounts {
		if !slices.Contains(accounts, account) {
			problems = append(problems, fmt.Sprintf("StackAccounts contains %q, which is not an account of the hop", account))
		}
	}
	return problems
}

// lastPart returns the part of a role's name after its last colon.
func lastPart(role string) string { return role[strings.LastIndex(role, ":")+1:] }
