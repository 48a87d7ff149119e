package bootstrap

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/urn"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
)

// mostGenerations is how many generations of a secret exist at once: the current one and, during a rotation, the former one.
const mostGenerations = 2

// generations returns the generations of a secret, the newest first.
func generations(set []int) []int {
	if len(set) == 0 {
		return []int{0}
	}
	return set
}

// generationName returns the name of a resource of a generation. The first generation has the plain name, which it had before
// there were generations.
func generationName(name string, generation int) string {
	if generation == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, generation)
}

// generationProblems returns the problems of the settings of generations.
func (c Config) generationProblems() []string {
	var problems []string
	check := func(setting string, set []int) {
		if len(set) > mostGenerations || slices.ContainsFunc(set, func(g int) bool { return g < 0 }) || len(set) == 2 && set[0] <= set[1] {
			problems = append(problems, fmt.Sprintf("%s is %v: give one generation, or during a rotation two, the newer first, such as [1,0]", setting, set))
		}
	}
	for _, team := range slices.Sorted(maps.Keys(c.PassphraseGenerations)) {
		check("passphraseGenerations."+team, c.PassphraseGenerations[team])
	}
	check("keyGenerations", c.KeyGenerations)
	if len(c.KeyGenerations) > 0 && !c.TenantKeys {
		problems = append(problems, "keyGenerations is for keys only: set tenantKeys too")
	}
	return problems
}

// passphraseLength gives the passphrase more entropy than the key derived from it.
const passphraseLength = 48

// passphrases creates the passphrase that encrypts the secrets in the state of the team's Stacks, and during a rotation keeps the
// former one, which is nil otherwise. This layer creates them together with the state, and not layer 2 with the team's namespace: the
// stack, and resources of a Stack without destroyOnFinalize, outlive the cluster's objects.
func (t tenant) passphrases(ctx *pulumi.Context, opts ...pulumi.ResourceOption) (current *random.RandomPassword, former pulumi.StringInput, err error) {
	for i, generation := range generations(t.config.PassphraseGenerations[t.team.Name]) {
		made, err := random.NewRandomPassword(ctx, generationName(passphraseName(t.team.Namespace()), generation), &random.RandomPasswordArgs{
			Length:  pulumi.Int(passphraseLength),
			Special: pulumi.Bool(false),
		}, opts...)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			current = made
		} else {
			former = made.Result
		}
	}
	return current, former, nil
}

func passphraseName(namespace string) string { return namespace + "-passphrase" }

// PassphraseURNs returns the URNs of a team's passphrases of some generations in the layer's stack; none means the first. The team is
// given by its namespace.
func PassphraseURNs(stack, namespace string, of []int) []string {
	const token = "random:index/randomPassword:RandomPassword"
	var urns []string
	for _, generation := range generations(of) {
		urns = append(urns, string(urn.New(tokens.QName(stack), Project, "", token, generationName(passphraseName(namespace), generation))))
	}
	return urns
}

// credentials are the key files of an account. former is nil except during a rotation.
type credentials struct{ current, former pulumi.StringInput }

// firstKey gives an identity its key of the first generation, if that exists.
func (c Config) firstKey(args *identity.IdentityArgs) {
	if args.Key = c.TenantKeys && slices.Contains(generations(c.KeyGenerations), 0); args.Key {
		args.KeyKeepers = c.keyKeepers()
	}
}

// keys creates the keys of an account of later generations, and returns the key files.
func (c Config) keys(ctx *pulumi.Context, account *identity.Identity, name string, opts ...pulumi.ResourceOption) (credentials, error) {
	if !c.TenantKeys {
		return credentials{current: account.Credentials}, nil
	}
	var files []pulumi.StringInput
	for _, generation := range generations(c.KeyGenerations) {
		if generation == 0 {
			files = append(files, account.Credentials)
			continue
		}
		key, err := serviceaccount.NewKey(ctx, generationName(name+"-key", generation), &serviceaccount.KeyArgs{
			ServiceAccountId: pulumi.Sprintf("projects/%s/serviceAccounts/%s", c.Project, account.Email),
			Keepers:          c.keyKeepers(),
		}, append(slices.Clone(opts), pulumi.Protect(false), pulumi.AdditionalSecretOutputs([]string{"privateKey"}))...)
		if err != nil {
			return credentials{}, err
		}
		files = append(files, pulumi.ToSecret(key.PrivateKey.ApplyT(identity.KeyFile)).(pulumi.StringOutput))
	}
	made := credentials{current: files[0]}
	if len(files) == mostGenerations {
		made.former = files[1]
	}
	return made, nil
}
