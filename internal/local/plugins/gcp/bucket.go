package gcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

// bucketNameLength is the longest name of a bucket.
const bucketNameLength = 63

type bucketArgs struct {
	ForceDestroy             bool                      `json:"forceDestroy"`
	Labels                   map[string]string         `json:"labels"`
	Location                 string                    `json:"location"`
	Name                     string                    `json:"name"`
	Project                  string                    `json:"project"`
	PublicAccessPrevention   string                    `json:"publicAccessPrevention,omitempty"`
	StorageClass             string                    `json:"storageClass,omitempty"`
	UniformBucketLevelAccess bool                      `json:"uniformBucketLevelAccess"`
	Versioning               *storage.BucketVersioning `json:"versioning,omitempty"`
}

type bucketState struct {
	bucketArgs
	ProjectNumber   uint64            `json:"projectNumber,omitempty"`
	EffectiveLabels map[string]string `json:"effectiveLabels"`
	PulumiLabels    map[string]string `json:"pulumiLabels"`
	SelfLink        string            `json:"selfLink"`
	URL             string            `json:"url"`
}

type bucketRequest = provider.Request[bucketArgs, bucketState]

func (g *plugin) bucket() provider.Resource {
	return provider.Resource{
		Args:     sdk.BucketArgs{},
		State:    sdk.Bucket{},
		Replace:  []string{"name", "location", "project", "enableObjectRetention", "customPlacementConfig.dataLocations"},
		Identity: []string{"name"},
		Computed: []string{"project", "publicAccessPrevention", "rpo", "softDeletePolicy", "uniformBucketLevelAccess", "versioning", "website"},
		Secrets:  []string{"effectiveLabels", "pulumiLabels"},
		AutoName: &provider.AutoName{Property: "name", MaxLength: bucketNameLength},
		Defaults: map[string]property.Value{"forceDestroy": property.New(false), "storageClass": property.New("STANDARD")},
		Operations: provider.Handle(provider.CRUD[bucketArgs, bucketState]{
			Create: g.createBucket,
			Read: func(ctx context.Context, r bucketRequest) (string, bucketState, error) {
				name := r.ID[strings.LastIndex(r.ID, "/")+1:]
				state, err := g.liveBucket(ctx, name, r.State.bucketArgs)
				return name, state, err
			},
			Update: g.updateBucket,
			Delete: g.deleteBucket,
		}),
	}
}

func (g *plugin) createBucket(ctx context.Context, r bucketRequest) (string, bucketState, error) {
	project, err := g.project(r.Args.Project)
	if err != nil {
		return "", bucketState{}, err
	}
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return "", bucketState{}, fmt.Errorf("make Storage client: %w", err)
	}
	b := r.Args.api()
	b.Name, b.Location = r.Args.Name, r.Args.Location
	if _, err := svc.Buckets.Insert(project, b).Context(ctx).Do(); err != nil {
		return "", bucketState{}, explained(err)
	}
	r.Args.Project = project
	state, err := g.liveBucket(ctx, r.Args.Name, r.Args)
	if err != nil {
		return r.Args.Name, bucketState{bucketArgs: r.Args}, err
	}
	return r.Args.Name, state, nil
}

func (a bucketArgs) api() *storage.Bucket {
	return &storage.Bucket{
		Labels: a.Labels, StorageClass: a.StorageClass, Versioning: a.Versioning,
		IamConfiguration: &storage.BucketIamConfiguration{
			PublicAccessPrevention: a.PublicAccessPrevention,
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{
				Enabled: a.UniformBucketLevelAccess, ForceSendFields: []string{"Enabled"},
			},
		},
	}
}

// liveBucket returns a bucket as the service has it. The project and forceDestroy are not the service's to tell.
func (g *plugin) liveBucket(ctx context.Context, name string, known bucketArgs) (bucketState, error) {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return bucketState{}, fmt.Errorf("make Storage client: %w", err)
	}
	b, err := svc.Buckets.Get(name).Context(ctx).Do()
	if err != nil {
		return bucketState{}, explained(err)
	}
	labels := b.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	project, err := g.project(known.Project)
	if err != nil {
		return bucketState{}, err
	}
	state := bucketState{
		bucketArgs: bucketArgs{
			ForceDestroy: known.ForceDestroy, Labels: labels, Location: b.Location, Name: b.Name, Project: project,
			StorageClass: b.StorageClass, Versioning: b.Versioning,
		},
		ProjectNumber: b.ProjectNumber, EffectiveLabels: labels, PulumiLabels: labels, SelfLink: b.SelfLink, URL: "gs://" + b.Name,
	}
	if strings.EqualFold(known.Location, b.Location) {
		state.Location = known.Location
	}
	if c := b.IamConfiguration; c != nil {
		state.PublicAccessPrevention = c.PublicAccessPrevention
		state.UniformBucketLevelAccess = c.UniformBucketLevelAccess != nil && c.UniformBucketLevelAccess.Enabled
	}
	return state, nil
}

func (g *plugin) updateBucket(ctx context.Context, r bucketRequest) (bucketState, error) {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return bucketState{}, fmt.Errorf("make Storage client: %w", err)
	}
	b := r.Args.api()
	for k := range r.Old.Labels {
		if _, kept := r.Args.Labels[k]; !kept {
			b.NullFields = append(b.NullFields, "Labels."+k)
		}
	}
	if _, err := svc.Buckets.Patch(r.ID, b).Context(ctx).Do(); err != nil {
		return bucketState{}, explained(err)
	}
	r.Args.Project = r.State.Project
	return g.liveBucket(ctx, r.ID, r.Args)
}

func (g *plugin) deleteBucket(ctx context.Context, r bucketRequest) error {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return fmt.Errorf("make Storage client: %w", err)
	}
	if r.State.ForceDestroy {
		err := svc.Objects.List(r.ID).Versions(true).Pages(ctx, func(page *storage.Objects) error {
			for _, o := range page.Items {
				if err := svc.Objects.Delete(r.ID, o.Name).Generation(o.Generation).Context(ctx).Do(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("empty the bucket: %w", explained(err))
		}
	}
	return explained(svc.Buckets.Delete(r.ID).Context(ctx).Do())
}
