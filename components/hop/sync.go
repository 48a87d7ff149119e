package hop

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
)

// syncTimeout is how long what the team commits may take to be ready; a database is among it.
const syncTimeout = "5m"

// sync makes Flux apply the team's repository in the team's namespace, under the team's account.
func (b *builder) sync() error {
	repository := fluxcd.Git{URL: pulumi.String(b.args.Source.URL), Branch: pulumi.String(b.args.Source.Branch)}
	if b.args.Source.Username != "" {
		repository.Username, repository.Password = pulumi.String(b.args.Source.Username), b.args.Source.Password.Input()
	}
	args := &fluxcd.SourceArgs{
		Namespace: b.hop.Namespace,
		Name:      pulumi.String(b.args.Account),
		Origin:    repository,
	}
	if b.args.Source.Interval != "" {
		args.Interval = pulumi.String(b.args.Source.Interval)
	}
	source, err := fluxcd.NewSource(b.ctx, b.name+"-source", args, b.child()...)
	if err != nil {
		return err
	}
	_, err = fluxcd.NewSync(b.ctx, b.name+"-sync", &fluxcd.SyncArgs{
		Namespace:       b.hop.Namespace,
		Name:            pulumi.String(b.args.Account),
		Source:          source,
		ServiceAccount:  b.hop.Account,
		Path:            pulumi.String(b.args.Source.Path),
		TargetNamespace: b.hop.Namespace,
		Wait:            true,
		Timeout:         pulumi.String(syncTimeout),
	}, b.child(pulumi.DependsOn(b.beforeSync))...)
	return err
}
