package handoff

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// BootstrapVersion is the version of the context that layer 1 writes and layer 2 reads. It increases with every change
// that an older or newer reader would misread.
const BootstrapVersion = 2

const (
	// BootstrapLayer is the name of layer 1.
	BootstrapLayer = "bootstrap"
	// BootstrapProject is the Pulumi project of layer 1.
	BootstrapProject = "strata-bootstrap"
)

// Names of the stack outputs of layer 1.
const (
	OutputVersion    = "handoffVersion"
	OutputProject    = "project"
	OutputRegion     = "region"
	OutputCluster    = "cluster"
	OutputKubeconfig = "kubeconfig"
	OutputKubernetes = "kubernetesVersion"
	OutputAddresses  = "controlPlaneAddresses"
	OutputInstance   = "instance"
	OutputAudience   = "googleAudience"
	OutputPlans      = "planAccount"
	OutputTenants    = "tenants"
)

// Names of the fields of one tenant in OutputTenants.
const (
	fieldAccount     = "account"
	fieldBackend     = "backend"
	fieldCredentials = "credentials"
	fieldPassphrase  = "passphrase"
	// fieldProvider is missing for a team whose state a passphrase encrypts.
	fieldProvider = "secretsProvider"
	// fieldFormer and fieldFormerCredentials are missing except while the passphrase or the key is rotated.
	fieldFormer            = "formerPassphrase"
	fieldFormerCredentials = "formerCredentials"
)

// Bootstrap is the context that layer 1 hands to layer 2.
type Bootstrap struct {
	// Project and Region are the location of the platform's cloud resources.
	Project, Region string
	// Cluster identifies the cluster for as long as it exists, even if its address and certificates change.
	Cluster string
	// Kubeconfig connects to the cluster as its administrator.
	Kubeconfig Secret
	// Kubernetes is the version of the cluster's control plane, such as 1.36.3-gke.100, when layer 1 last read it; empty if
	// a layer 1 of an earlier strata created the cluster and has not run since.
	Kubernetes string
	// Addresses of the control plane are those at which pods reach the API server; empty if an earlier strata wrote the context.
	Addresses []netip.Addr
	// Instance is the name of the Cloud SQL instance that the teams share.
	Instance string
	// Audience is that of the cluster's accounts (package keyless), Plans the Google account for the look-ups of plans; may be empty.
	Audience, Plans string
	// Tenants holds each team's part, by the team's name.
	Tenants map[string]BootstrapTenant
}

// BootstrapTenant is a team's part of Bootstrap.
type BootstrapTenant struct {
	// Account is the e-mail address of the team's Google service account.
	Account string
	// Backend is the URL of the backend for the state of the team's Stacks, such as gs://acme-dev-strata-web. Account
	// reads and writes it; no other team's account does.
	Backend string
	// Credentials is the key file of Account; empty if the team authenticates without a key.
	Credentials Secret
	// Passphrase encrypts the secrets in the state in Backend, unless Provider does. As long as that state exists, it changes by a
	// rotation only.
	Passphrase Secret
	// FormerPassphrase is the passphrase before Passphrase, with which some states may still be encrypted; empty except during a
	// rotation.
	FormerPassphrase Secret
	// Provider is the secrets provider that encrypts the secrets in that state, such as
	// gcpkms://projects/acme-dev/locations/europe-west1/keyRings/strata/cryptoKeys/web; empty if Passphrase does. Account may
	// use its key; no other team's account may.
	Provider string
}

// BootstrapOutputs holds the values of Bootstrap as outputs of layer 1.
type BootstrapOutputs struct {
	Project, Region, Cluster, Kubeconfig, Kubernetes, Instance, Audience, Plans pulumi.StringInput

	// Addresses are IP addresses as text; nil means none.
	Addresses pulumi.StringArrayInput

	Tenants map[string]BootstrapTenantOutputs
}

// BootstrapTenantOutputs holds the values of BootstrapTenant as outputs of layer 1.
type BootstrapTenantOutputs struct {
	Account, Backend, Credentials, Passphrase pulumi.StringInput

	// Provider is nil for a team whose state the passphrase encrypts.
	Provider pulumi.StringInput

	// FormerPassphrase and FormerCredentials are nil except during a rotation. Layer 2 does not read FormerCredentials: they are for
	// the proof that they are refused afterwards.
	FormerPassphrase, FormerCredentials pulumi.StringInput
}

// Export exports the context as outputs of the stack, with the secret ones marked as secrets.
func (o BootstrapOutputs) Export(ctx *pulumi.Context) {
	tenants := pulumi.Map{}
	for name, tenant := range o.Tenants {
		fields := pulumi.Map{
			fieldAccount:     tenant.Account,
			fieldBackend:     tenant.Backend,
			fieldCredentials: pulumi.ToSecret(tenant.Credentials),
			fieldPassphrase:  pulumi.ToSecret(tenant.Passphrase),
		}
		if tenant.Provider != nil {
			fields[fieldProvider] = tenant.Provider
		}
		for name, value := range map[string]pulumi.StringInput{fieldFormer: tenant.FormerPassphrase, fieldFormerCredentials: tenant.FormerCredentials} {
			if value != nil {
				fields[name] = pulumi.ToSecret(value)
			}
		}
		tenants[name] = fields
	}
	ctx.Export(OutputVersion, pulumi.Int(BootstrapVersion))
	ctx.Export(OutputProject, o.Project)
	ctx.Export(OutputRegion, o.Region)
	ctx.Export(OutputCluster, o.Cluster)
	ctx.Export(OutputKubeconfig, pulumi.ToSecret(o.Kubeconfig))
	ctx.Export(OutputKubernetes, o.Kubernetes)
	if o.Addresses != nil {
		ctx.Export(OutputAddresses, o.Addresses)
	}
	ctx.Export(OutputInstance, o.Instance)
	ctx.Export(OutputAudience, o.Audience)
	ctx.Export(OutputPlans, o.Plans)
	ctx.Export(OutputTenants, pulumi.ToSecret(tenants))
}

// ReadBootstrap reads the context from the stack of layer 1 with the given full name, and checks that it has a part for
// each of the named teams. One error lists everything that is missing or wrong.
func ReadBootstrap(ctx *pulumi.Context, stack string, teams []string) (*Bootstrap, error) {
	r := &reader{layer: BootstrapLayer, stack: stack}
	ref, err := pulumi.NewStackReference(ctx, stack, nil)
	if err != nil {
		return nil, r.wrap(err)
	}
	version, err := ref.GetOutputDetails(OutputVersion)
	if err != nil {
		err = r.wrap(err)
		// The SDK replaces the program's error by the error of the failed read, which names no remedy.
		_ = ctx.Log.Error(err.Error(), nil)
		return nil, err
	}
	if err := r.checkVersion(version.Value, BootstrapVersion); err != nil {
		return nil, err
	}
	r.output = func(name string) (any, bool, error) {
		details, err := ref.GetOutputDetails(name)
		if err != nil {
			return nil, false, err
		}
		if details.SecretValue != nil {
			return details.SecretValue, true, nil
		}
		return details.Value, false, nil
	}
	bootstrap := &Bootstrap{
		Project:    r.text(OutputProject),
		Region:     r.text(OutputRegion),
		Cluster:    r.text(OutputCluster),
		Kubeconfig: r.secret(OutputKubeconfig),
		Kubernetes: r.optional(OutputKubernetes),
		Addresses:  r.addresses(OutputAddresses),
		Instance:   r.text(OutputInstance),
		Audience:   r.optional(OutputAudience),
		Plans:      r.optional(OutputPlans),
		Tenants:    r.tenants(teams),
	}
	return bootstrap, r.err()
}

// tenants reads the outputs of the named teams. For a team that teams.yaml has gained since the last run of layer 1, the problem
// lists the teams in the context. Credentials may be empty: without tenantKeys, a team has no key.
func (r *reader) tenants(teams []string) map[string]BootstrapTenant {
	if len(teams) == 0 {
		return nil
	}
	value, isSecret, err := r.output(OutputTenants)
	all, isMap := value.(map[string]any)
	switch {
	case err != nil:
		r.problem("%s cannot be read: %v", OutputTenants, err)
		return nil
	case value == nil:
		r.problem("%s is missing", OutputTenants)
		return nil
	case !isSecret:
		r.problem("%s is in plain text, but must be a secret", OutputTenants)
		return nil
	case !isMap:
		r.problem("%s is not a map", OutputTenants)
		return nil
	}
	tenants := map[string]BootstrapTenant{}
	for _, team := range slices.Sorted(slices.Values(teams)) {
		at := OutputTenants + "." + team
		fields, isMap := all[team].(map[string]any)
		if _, found := all[team]; found && !isMap {
			r.problem("%s is not a map", at)
			continue
		}
		if !isMap {
			known := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
			r.problem("%s is missing (the context contains: %s)", at, known)
			continue
		}
		tenant := BootstrapTenant{
			Account:    r.asText(at+"."+fieldAccount, fields[fieldAccount]),
			Backend:    r.asText(at+"."+fieldBackend, fields[fieldBackend]),
			Passphrase: Secret(r.asText(at+"."+fieldPassphrase, fields[fieldPassphrase])),
		}
		if provider := fields[fieldProvider]; provider != nil {
			tenant.Provider = r.asText(at+"."+fieldProvider, provider)
		}
		if former := fields[fieldFormer]; former != nil {
			tenant.FormerPassphrase = Secret(r.asText(at+"."+fieldFormer, former))
		}
		credentials, isText := fields[fieldCredentials].(string)
		switch {
		case fields[fieldCredentials] == nil:
			r.problem("%s.%s is missing", at, fieldCredentials)
		case !isText:
			r.problem("%s.%s is not a string", at, fieldCredentials)
		}
		tenant.Credentials = Secret(credentials)
		tenants[team] = tenant
	}
	return tenants
}
