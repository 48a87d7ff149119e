package bootstrap

import (
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
)

const (
	// keyScheme begins the URL of a secrets provider with a key of Cloud KMS.
	keyScheme = "gcpkms://"
	// keyRole is the role of a team's account on its key. It neither reads nor changes the key itself.
	keyRole = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
)

// secretsProvider gives the team's account the use of its key, and returns the URL of the key; nil without
// TenantSecretsProvider. The URL waits for the binding, because a run before it could not encrypt.
//
// The layer does not create the key. Google Cloud never deletes a key and never frees its name, so that the layer could not come
// up again after a destroy; and the destroy of a key would destroy a state that outlives the layer, such as one in TenantBackend.
func (t tenant) secretsProvider(ctx *pulumi.Context, account *identity.Identity, opts ...pulumi.ResourceOption) (pulumi.StringInput, error) {
	if t.config.TenantSecretsProvider == "" {
		return nil, nil
	}
	url := strings.ReplaceAll(t.config.TenantSecretsProvider, TeamPlaceholder, t.team.Name)
	binding, err := kms.NewCryptoKeyIAMMember(ctx, t.team.Namespace()+"-key", &kms.CryptoKeyIAMMemberArgs{
		CryptoKeyId: pulumi.String(strings.TrimPrefix(url, keyScheme)),
		Role:        pulumi.String(keyRole),
		Member:      account.Member,
	}, opts...)
	if err != nil {
		return nil, err
	}
	return binding.ID().ApplyT(func(pulumi.ID) string { return url }).(pulumi.StringOutput), nil
}
