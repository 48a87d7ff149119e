package hop

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
)

// syncTimeout limits the time until the objects of a commit are ready. They may include a database.
const syncTimeout = "5m"

// sync makes Flux apply the team's repository in the team's namespace: each folder under its own account.
func (b *builder) sync() error {
	origin, err := b.origin()
	if err != nil {
		return err
	}
	args := &fluxcd.SourceArgs{
		Namespace: b.hop.Namespace,
		Name:      pulumi.String(b.args.Account),
		Origin:    origin,
		Interval:  b.args.Source.Interval,
		// The labels let admission policies keep the team from changing these Secrets. The team may change its other
		// Secrets.
		SecretLabels: b.objectLabels(),
	}
	// The admission policies look up the team's TenantPolicy when any client creates the source, so the TenantPolicy must
	// exist first.
	source, err := fluxcd.NewSource(b.ctx, b.name+"-source", args, b.child(pulumi.DependsOn(b.allowed))...)
	if err != nil {
		return err
	}
	if err := b.apply("sync", b.args.Account, b.hop.Account, b.args.Source.Path, source); err != nil {
		return err
	}
	for _, account := range b.args.Accounts {
		if account.Path == "" {
			continue
		}
		if err := b.apply("sync-"+account.Name, account.Name, b.accounts[account.Name], pulumi.String(account.Path), source); err != nil {
			return err
		}
	}
	if !b.args.Source.Webhook {
		return nil
	}
	_, err = fluxcd.NewReceiver(b.ctx, b.name+"-receiver", &fluxcd.ReceiverArgs{
		Namespace:    b.hop.Namespace,
		Name:         pulumi.String(b.args.Account),
		Sources:      []*fluxcd.Source{source},
		SecretLabels: b.objectLabels(),
	}, b.child()...)
	return err
}

// apply makes Flux apply a folder of the team's repository under an account.
func (b *builder) apply(part, name string, account, path pulumi.StringInput, source *fluxcd.Source) error {
	_, err := fluxcd.NewSync(b.ctx, b.name+"-"+part, &fluxcd.SyncArgs{
		Namespace:       b.hop.Namespace,
		Name:            pulumi.String(name),
		Source:          source,
		ServiceAccount:  account,
		Path:            path,
		TargetNamespace: b.hop.Namespace,
		Wait:            true,
		Timeout:         pulumi.String(syncTimeout),
	}, b.child(pulumi.DependsOn(b.beforeSync))...)
	return err
}
