package hop

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
)

// passphraseLength gives more entropy than the key that is derived from the passphrase.
const passphraseLength = 48

// context makes what the team's Stacks read.
func (b *builder) context() error {
	passphrase, err := random.NewRandomPassword(b.ctx, b.name+"-passphrase", &random.RandomPasswordArgs{
		Length:  pulumi.Int(passphraseLength),
		Special: pulumi.Bool(false),
	}, b.child()...)
	if err != nil {
		return err
	}
	content := b.args.Context
	content.Passphrase = passphrase.Result
	secret, err := corev1.NewSecret(b.ctx, b.name+"-context", &corev1.SecretArgs{
		Metadata:   b.metadata(handoff.TenantName),
		StringData: content.SecretData(),
	}, b.inside()...)
	if err != nil {
		return err
	}
	config, err := corev1.NewConfigMap(b.ctx, b.name+"-config", &corev1.ConfigMapArgs{
		Metadata: b.metadata(handoff.TenantName),
		Data:     content.ConfigData(),
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, secret, config)
	return err
}
