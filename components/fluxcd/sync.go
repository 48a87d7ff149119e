package fluxcd

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
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
	// HealthChecks say, with Wait, when custom resources are ready of which Flux cannot tell by itself. nil is PulumiHealth;
	// give an empty slice for none.
	HealthChecks []HealthCheck
	// DeletionPolicy is what becomes of the objects when the sync is deleted: DeleteAndWait (the default, but with KeepRemoved
	// it is Orphan), Delete or Orphan.
	DeletionPolicy string
}

// What becomes of a sync's objects when it is deleted.
const (
	// DeleteAndWait deletes them, and the sync only when they are gone. What the sync needs to clean up, such as its account,
	// can depend on that.
	DeleteAndWait = "WaitForTermination"
	// Delete deletes them, and the sync at once.
	Delete = "Delete"
	// Orphan keeps them.
	Orphan = "Orphan"
)

// Sync is what Flux applies of a source.
type Sync struct {
	pulumi.ResourceState

	// Namespace and Name of the sync, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
}

// patientSync is as patient, where what Flux applied has to go first. An end that was missed then costs two minutes, not ten.
var patientSync = pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: syncDeleteTimeout})

// NewSync makes Flux apply a source. The provider for the cluster comes by opts; Flux has to be there. Deleting the sync
// deletes what it applied and waits up to two minutes until that is gone, for which the account and its rights have to
// outlive it: make it depend on them.
func NewSync(ctx *pulumi.Context, name string, args *SyncArgs, opts ...pulumi.ResourceOption) (*Sync, error) {
	args = inputs.Given(args)
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
	sync, err := newObject(ctx, name+"-kustomization", syncVersion, syncKind, args.Namespace, object, args.spec(), pulumi.Parent(s), patientSync)
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
		"deletionPolicy":     pulumi.String(a.deletionPolicy()),
		"interval":           or(a.Interval, defaultSyncInterval),
		"retryInterval":      or(a.RetryInterval, defaultRetryInterval),
	}
	put(spec, "timeout", a.Timeout)
	put(spec, "targetNamespace", a.TargetNamespace)
	if len(a.DependsOn) > 0 {
		needs := make(pulumi.Array, len(a.DependsOn))
		for i, need := range a.DependsOn {
			needs[i] = pulumi.Map{"name": need.Name}
		}
		spec["dependsOn"] = needs
	}
	checks := a.HealthChecks
	if checks == nil {
		checks = PulumiHealth()
	}
	if a.Wait && len(checks) > 0 {
		spec["healthCheckExprs"] = healthChecks(checks)
	}
	return spec
}

func (a *SyncArgs) deletionPolicy() string {
	switch {
	case a.DeletionPolicy != "":
		return a.DeletionPolicy
	case a.KeepRemoved:
		return Orphan
	}
	return DeleteAndWait
}

func (a *SyncArgs) check() error {
	var p problems
	p.refuse(a.Namespace == nil || a.Source == nil, "Namespace and Source must be given")
	p.refuse(a.ServiceAccount == nil,
		"ServiceAccount must be given: without one, whoever may change the source has the rights of the namespace's default account")
	p.refuse(!slices.Contains([]string{DeleteAndWait, Delete, Orphan}, a.deletionPolicy()),
		"DeletionPolicy must be "+DeleteAndWait+", "+Delete+" or "+Orphan)
	p.refuse(slices.Contains(a.DependsOn, nil), "a Sync in DependsOn must not be nil")
	p.refuse(!a.Wait && len(a.HealthChecks) > 0, "HealthChecks need Wait")
	return append(p, checkHealth(a.HealthChecks)...).err()
}
