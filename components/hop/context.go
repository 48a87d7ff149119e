package hop

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"

	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/handoff"
)

// context creates the Secret and the ConfigMap that the team's Stacks read.
func (b *builder) context() error {
	content := b.args.Context
	if inputs.Missing(content.FormerPassphrase) {
		content.FormerPassphrase = nil
	}
	secret, err := corev1.NewSecret(b.ctx, b.name+"-context", &corev1.SecretArgs{
		Metadata:   b.metadata(handoff.TenantName),
		StringData: content.SecretData(),
		Data:       content.FormerData(),
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
