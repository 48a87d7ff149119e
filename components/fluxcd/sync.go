package fluxcd

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// SyncType is the type token of Sync.
	SyncType = "strata:components:FluxSync"

	syncVersion          = "kustomize.toolkit.fluxcd.io/v1"
	syncKind             = "Kustomization"
	defaultSyncInterval  = "10m"
	defaultRetryInterval = "5s"
	defaultPath          = "./"
)

// SyncArgs describe what Flux applies of a source, and under which account.
type SyncArgs struct {
	// Namespace of the sync. Required; the source has to be in the same one.
	Namespace pulumi.StringInput
	// Name of the sync, by default that of the resource.
	Name pulumi.StringInput
	// Source is what is applied. Required.
	Source *Source
	// ServiceAccount is the account in Namespace under which it is applied. Required.
	ServiceAccount pulumi.StringInput
	// Path in the source, its root by default.
	Path pulumi.StringInput
	// KeepRemoved keeps objects in the cluster whose manifests went from the source. By default they are deleted.
	KeepRemoved bool
	// Wait makes the sync ready only once everything that it applied is.
	Wait bool
	// Interval at which what is applied is checked for drift, "10m" by default. A new commit is applied at once regardless.
	Interval pulumi.StringInput
	// RetryInterval after a failure, "5s" by default.
	RetryInterval pulumi.StringInput
	// Timeout of applying, of waiting, and of the wait for the objects to go when the sync is deleted. Without it Flux takes
	// Interval.
	Timeout pulumi.StringInput
	// TargetNamespace overrides the namespace of every object.
	TargetNamespace pulumi.StringInput
	// DependsOn are syncs of the same namespace that have to be ready first.
	DependsOn []*Sync
}

// Sync is what Flux applies of a source.
type Sync struct {
	pulumi.ResourceState

	// Namespace and Name of the sync, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
}

// NewSync makes Flux apply a source. The provider for the cluster comes by opts; Flux has to be there. Deleting the sync
// deletes what it applied and waits until that is gone, for which the account and its rights have to outlive it: make it
// depend on them.
func NewSync(ctx *pulumi.Context, name string, args *SyncArgs, opts ...pulumi.ResourceOption) (*Sync, error) {
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make sync %s: %w", name, err)
	}
	s := &Sync{}
	object := or(args.Name, name)
	inputs := pulumi.Map{
		"namespace": args.Namespace, "name": object, "source": args.Source.Name,
		"serviceAccount": args.ServiceAccount, "path": or(args.Path, defaultPath),
	}
	if err := ctx.RegisterComponentResourceV2(SyncType, name, inputs, s, opts...); err != nil {
		return nil, fmt.Errorf("make sync %s: %w", name, err)
	}
	sync, err := newObject(ctx, name+"-kustomization", syncVersion, syncKind, args.Namespace, object, args.spec(), pulumi.Parent(s))
	if err != nil {
		return nil, fmt.Errorf("make sync %s: %w", name, err)
	}
	s.Namespace, s.Name = sync.Metadata.Namespace().Elem(), sync.Metadata.Name().Elem()
	return s, ctx.RegisterResourceOutputs(s, pulumi.Map{"namespace": s.Namespace, "name": s.Name})
}

func (a *SyncArgs) spec() pulumi.Map {
	spec := pulumi.Map{
		"sourceRef":          pulumi.Map{"kind": a.Source.Kind, "name": a.Source.Name},
		"serviceAccountName": a.ServiceAccount,
		"path":               or(a.Path, defaultPath),
		"prune":              pulumi.Bool(!a.KeepRemoved),
		"wait":               pulumi.Bool(a.Wait),
		"interval":           or(a.Interval, defaultSyncInterval),
		"retryInterval":      or(a.RetryInterval, defaultRetryInterval),
	}
	if !a.KeepRemoved {
		// What the sync needs to clean up, such as its account, must not go before its objects have.
		spec["deletionPolicy"] = pulumi.String("WaitForTermination")
	}
	if a.Timeout != nil {
		spec["timeout"] = a.Timeout
	}
	if a.TargetNamespace != nil {
		spec["targetNamespace"] = a.TargetNamespace
	}
	if len(a.DependsOn) > 0 {
		needs := make(pulumi.Array, len(a.DependsOn))
		for i, need := range a.DependsOn {
			needs[i] = pulumi.Map{"name": need.Name}
		}
		spec["dependsOn"] = needs
	}
	return spec
}

func (a *SyncArgs) check() error {
	switch {
	case a.Namespace == nil || a.Source == nil:
		return errors.New("Namespace and Source must be given")
	case a.ServiceAccount == nil:
		return errors.New("ServiceAccount must be given: without one, whoever may change the source has the rights of the namespace's default account")
	}
	return nil
}
