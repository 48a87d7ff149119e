package fluxcd

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	// SyncType is the type token of Sync.
	SyncType = "strata:index:FluxSync"

	syncVersion          = "kustomize.toolkit.fluxcd.io/v1"
	syncKind             = "Kustomization"
	defaultSyncInterval  = "10m"
	defaultRetryInterval = "5s"
	defaultPath          = "./"
)

// SyncArgs describes a sync: the source to apply and the account to apply it under.
type SyncArgs struct {
	// Namespace is the namespace of the sync. Required. The source must be in the same namespace.
	Namespace pulumi.StringInput
	// Name is the name of the sync; nil means the name of the resource.
	Name pulumi.StringInput
	// Source is the source to apply. Required.
	Source *Source
	// ServiceAccount is the account in Namespace that Flux impersonates to apply the source. Required.
	ServiceAccount pulumi.StringInput
	// Path is the folder in the source; nil means the root.
	Path pulumi.StringInput
	// Components are folders with components of kustomize, relative to Path, that change the objects before Flux applies them; nil
	// means none.
	Components []string
	// Patches change the objects before Flux applies them; nil means none.
	Patches []Patch
	// KeepRemoved keeps an object in the cluster after its manifest is removed from the source. By default Flux deletes
	// it.
	KeepRemoved bool
	// Wait makes the sync ready only once all of its objects are ready.
	Wait bool
	// Interval is the interval of drift correction; nil means "10m". Flux applies a new commit at once regardless.
	Interval pulumi.StringInput
	// RetryInterval is the delay after a failure; nil means "5s".
	RetryInterval pulumi.StringInput
	// Timeout limits each apply, each wait for readiness, and the wait for the objects' deletion when the sync is
	// deleted; nil means Interval.
	Timeout pulumi.StringInput
	// TargetNamespace overrides the namespace of every object.
	TargetNamespace pulumi.StringInput
	// DependsOn are syncs of the same namespace that must be ready first.
	DependsOn []*Sync
	// HealthChecks decide, with Wait, when custom resources are ready that Flux cannot judge by itself. Nil means
	// PulumiHealth; an empty slice means none.
	HealthChecks []HealthCheck
	// DeletionPolicy decides what happens to the objects when the sync is deleted: DeleteAndWait, Delete or Orphan. Empty
	// means DeleteAndWait, or Orphan with KeepRemoved.
	DeletionPolicy string
}

// Patch changes one object of a sync.
type Patch struct {
	// Kind and Name identify the object. Both are required.
	Kind, Name string
	// Operations is a JSON patch (RFC 6902). Required.
	Operations string
}

// Deletion policies of a sync's objects.
const (
	// DeleteAndWait deletes the objects, waits until they are gone, and then deletes the sync. So resources that the
	// cleanup needs, such as the sync's account, only have to outlive the sync.
	DeleteAndWait = "WaitForTermination"
	// Delete deletes the objects, and the sync at once.
	Delete = "Delete"
	// Orphan keeps the objects.
	Orphan = "Orphan"
)

// Sync applies a source.
type Sync struct {
	pulumi.ResourceState

	// Namespace and Name of the sync, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`

	kustomization pulumi.Resource
}

// Resources returns the sync's Kustomization, for pulumi.DependsOn. See Flux.Resources.
func (s *Sync) Resources() []pulumi.Resource { return []pulumi.Resource{s.kustomization} }

// boundedSyncDelete bounds the wait for a sync's deletion, during which Flux deletes the sync's objects. A missed deletion
// then costs two minutes instead of ten.
var boundedSyncDelete = pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: syncDeleteTimeout})

// NewSync makes Flux apply a source. Pass the provider for the cluster in opts. Flux must be installed. Deleting the sync
// deletes its objects and waits up to two minutes for their deletion. The account and its permissions must outlive the
// sync, so make the sync depend on them.
func NewSync(ctx *pulumi.Context, name string, args *SyncArgs, opts ...pulumi.ResourceOption) (*Sync, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create sync %s: %w", name, err)
	}
	s := &Sync{}
	object := inputs.Or(args.Name, pulumi.String(name))
	properties := pulumi.Map{
		"namespace": args.Namespace, "name": object, "source": args.Source.Name,
		"serviceAccount": args.ServiceAccount, "path": inputs.Or(args.Path, pulumi.String(defaultPath)),
	}
	if err := component.Register(ctx, SyncType, name, properties, s, opts...); err != nil {
		return nil, fmt.Errorf("create sync %s: %w", name, err)
	}
	sync, err := newObject(ctx, name+"-kustomization", syncVersion, syncKind, args.Namespace, object, args.spec(), pulumi.Parent(s), boundedSyncDelete)
	if err != nil {
		return nil, fmt.Errorf("create sync %s: %w", name, err)
	}
	s.Namespace, s.Name, s.kustomization = sync.Metadata.Namespace().Elem(), sync.Metadata.Name().Elem(), sync
	return s, ctx.RegisterResourceOutputs(s, pulumi.Map{"namespace": s.Namespace, "name": s.Name})
}

func (a *SyncArgs) spec() pulumi.Map {
	spec := pulumi.Map{
		"sourceRef":          pulumi.Map{"kind": a.Source.Kind, "name": a.Source.Name},
		"serviceAccountName": a.ServiceAccount,
		"path":               inputs.Or(a.Path, pulumi.String(defaultPath)),
		"prune":              pulumi.Bool(!a.KeepRemoved),
		"wait":               pulumi.Bool(a.Wait),
		"deletionPolicy":     pulumi.String(a.deletionPolicy()),
		"interval":           inputs.Or(a.Interval, pulumi.String(defaultSyncInterval)),
		"retryInterval":      inputs.Or(a.RetryInterval, pulumi.String(defaultRetryInterval)),
	}
	if len(a.Components) > 0 {
		spec["components"] = pulumi.ToStringArray(a.Components)
	}
	if len(a.Patches) > 0 {
		patches := make(pulumi.Array, len(a.Patches))
		for i, patch := range a.Patches {
			patches[i] = pulumi.Map{
				"target": pulumi.Map{"kind": pulumi.String(patch.Kind), "name": pulumi.String(patch.Name)}, "patch": pulumi.String(patch.Operations),
			}
		}
		spec["patches"] = patches
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
	p.refuse(inputs.Missing(a.Namespace) || a.Source == nil, "Namespace and Source must be given")
	p.refuse(inputs.Missing(a.ServiceAccount),
		"ServiceAccount must be given: without one, Flux applies the source as the namespace's default account")
	p.refuse(!slices.Contains([]string{DeleteAndWait, Delete, Orphan}, a.deletionPolicy()),
		"DeletionPolicy must be "+DeleteAndWait+", "+Delete+" or "+Orphan)
	p.refuse(slices.ContainsFunc(a.Patches, func(p Patch) bool { return p.Kind == "" || p.Name == "" || p.Operations == "" }), "each Patch needs Kind, Name and Operations")
	p.refuse(slices.Contains(a.DependsOn, nil), "a Sync in DependsOn must not be nil")
	p.refuse(!a.Wait && len(a.HealthChecks) > 0, "HealthChecks need Wait")
	return append(p, checkHealth(a.HealthChecks)...).err()
}
