// Package storage contains the resources of Cloud Storage: buckets and the members of their IAM policies.
package storage

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// provider is the configured provider, with the operations of this package as methods.
type provider struct{ *core.Provider }

// bucketNames matches valid names of buckets, except for the rules that checkBucketName adds.
var bucketNames = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{1,220}[a-z0-9]$`)

type bucketRequest = frame.Request[bucketArgs, bucketState]

// Bucket returns the resource type of buckets.
func Bucket(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:     sdk.BucketArgs{},
		State:    sdk.Bucket{},
		Rules:    bucketRules(),
		Identity: []string{"name"},
		AutoName: "name",
		Differ:   unlockingRetention,
		Operations: frame.Handle(frame.CRUD[bucketArgs, bucketState]{
			Check:  checkBucket,
			Create: g.createBucket,
			Read:   g.readBucket,
			Update: g.updateBucket,
			Delete: g.deleteBucket,
		}),
	}
}

// checkBucketName returns why a name of a bucket is invalid, or "".
func checkBucketName(name string) string {
	long := false
	for part := range strings.SplitSeq(name, ".") {
		long = long || len(part) > 63
	}
	switch plain := strings.ReplaceAll(name, "0", "o"); {
	case !bucketNames.MatchString(name), long:
		return fmt.Sprintf("must be 3 to 63 lower case letters, digits, dashes, underscores and dots, letters or digits at both ends, not %q", name)
	case net.ParseIP(name) != nil:
		return fmt.Sprintf("must not be an IP address, as %q is", name)
	case strings.HasPrefix(name, "goog"), strings.Contains(plain, "google"):
		return fmt.Sprintf("must not begin with goog or contain google, as %q does", name)
	}
	return ""
}

// checkBucket rejects lifecycle rules without a condition.
func checkBucket(args bucketArgs) []frame.Failure {
	var failures []frame.Failure
	for i, r := range args.LifecycleRules {
		if r.Action != nil && r.Condition == nil {
			failures = append(failures, frame.Failure{
				Path: fmt.Sprintf("lifecycleRules[%d].condition", i), Reason: "a rule needs a condition",
			})
		}
	}
	return failures
}

// unlockingRetention returns the path of a change that unlocks the retention policy. The change needs a new bucket,
// because nobody can unlock the policy of an existing bucket.
func unlockingRetention(olds, news property.Map) []string {
	const path = "retentionPolicy.isLocked"
	locked := func(m property.Map) bool { v := value.At(m, path); return v.IsBool() && v.AsBool() }
	if locked(olds) && !locked(news) {
		return []string{path}
	}
	return nil
}

// createBucket creates a bucket. It locks the retention policy in a second call, because the API cannot create a locked
// one.
func (g provider) createBucket(ctx context.Context, r bucketRequest) (string, bucketState, error) {
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", bucketState{}, err
	}
	svc, err := g.Storage(ctx)
	if err != nil {
		return "", bucketState{}, err
	}
	b := r.Args.api(g.DefaultLabels())
	b.Name, b.Location, b.CustomPlacementConfig = r.Args.Name, r.Args.Location, r.Args.CustomPlacementConfig
	call := svc.Buckets.Insert(project, b)
	if r.Args.EnableObjectRetention {
		call.EnableObjectRetention(true)
	}
	created, err := call.Context(ctx).Do()
	if err != nil {
		return "", bucketState{}, core.Explain(err)
	}
	r.Args.Project = project
	if err := lockRetention(ctx, svc, r.Args, created); err != nil {
		return created.Name, bucketState{bucketSpec: r.Args.bucketSpec}, err
	}
	state, err := g.liveBucket(ctx, created.Name, r.Args)
	if err != nil {
		return created.Name, bucketState{bucketSpec: r.Args.bucketSpec}, err
	}
	return created.Name, state, nil
}

// lockRetention locks the retention policy of a bucket if the program sets isLocked. The lock is irreversible.
func lockRetention(ctx context.Context, svc *storage.Service, a bucketArgs, b *storage.Bucket) error {
	if a.RetentionPolicy == nil || !a.RetentionPolicy.IsLocked || b.RetentionPolicy == nil || b.RetentionPolicy.IsLocked {
		return nil
	}
	if _, err := svc.Buckets.LockRetentionPolicy(b.Name, b.Metageneration).Context(ctx).Do(); err != nil {
		return fmt.Errorf("lock the retention policy: %w", core.Explain(err))
	}
	return nil
}

func (g provider) readBucket(ctx context.Context, r bucketRequest) (string, bucketState, error) {
	project, name, ok := strings.Cut(r.ID, "/")
	if !ok {
		project, name = "", r.ID
	}
	r.Args.Project = cmp.Or(project, r.State.Project)
	state, err := g.liveBucket(ctx, name, r.Args)
	if r.Importing {
		state.Labels = state.EffectiveLabels
	}
	return name, state, err
}

// liveBucket returns the current state of a bucket. As in the official provider, labels that the program does not set
// appear only in EffectiveLabels. known are the last inputs.
func (g provider) liveBucket(ctx context.Context, name string, known bucketArgs) (bucketState, error) {
	svc, err := g.Storage(ctx)
	if err != nil {
		return bucketState{}, err
	}
	b, err := svc.Buckets.Get(name).Context(ctx).Do()
	if err != nil {
		return bucketState{}, core.Explain(err)
	}
	project, err := g.Project(known.Project)
	if err != nil {
		return bucketState{}, err
	}
	state := bucketState{bucketSpec: bucketOf(b, project), EffectiveLabels: map[string]string{}, URL: "gs://" + b.Name}
	state.Labels, state.PulumiLabels = map[string]string{}, map[string]string{}
	own := withDefaultLabels(known.Labels, g.DefaultLabels())
	for k, v := range b.Labels {
		state.EffectiveLabels[k] = v
		if _, ok := own[k]; ok {
			state.PulumiLabels[k] = v
		}
		if _, ok := known.Labels[k]; ok {
			state.Labels[k] = v
		}
	}
	for i := range min(len(state.LifecycleRules), len(known.LifecycleRules)) {
		if c, k := state.LifecycleRules[i].Condition, known.LifecycleRules[i].Condition; k != nil {
			c.NoAge, c.SendDaysSinceCustomTimeIfZero = k.NoAge, k.SendDaysSinceCustomTimeIfZero
			c.SendDaysSinceNoncurrentTimeIfZero, c.SendNumNewerVersionsIfZero = k.SendDaysSinceNoncurrentTimeIfZero, k.SendNumNewerVersionsIfZero
		}
	}
	return state, nil
}

// updateBucket patches a bucket. It sends null for settings and labels that the program no longer sets, because a patch
// keeps fields that it does not contain.
func (g provider) updateBucket(ctx context.Context, r bucketRequest) (bucketState, error) {
	svc, err := g.Storage(ctx)
	if err != nil {
		return bucketState{}, err
	}
	b := r.Args.api(g.DefaultLabels())
	b.ForceSendFields = append(b.ForceSendFields, "Labels") // otherwise the client omits an empty map of labels
	for k := range r.Old.Labels {
		if _, kept := b.Labels[k]; !kept {
			b.NullFields = append(b.NullFields, "Labels."+k)
		}
	}
	for field, removed := range map[string]bool{
		"Cors": len(b.Cors) == 0, "Encryption": b.Encryption == nil, "Lifecycle": b.Lifecycle == nil, "Logging": b.Logging == nil,
		"RetentionPolicy": b.RetentionPolicy == nil, "Website": b.Website == nil,
	} {
		if removed {
			b.NullFields = append(b.NullFields, field)
		}
	}
	if r.Args.Autoclass == nil && r.Old.Autoclass != nil {
		b.Autoclass = &storage.BucketAutoclass{ForceSendFields: []string{"Enabled"}}
	}
	patched, err := svc.Buckets.Patch(r.ID, b).Context(ctx).Do()
	if err != nil {
		return bucketState{}, core.Explain(err)
	}
	if err := lockRetention(ctx, svc, r.Args, patched); err != nil {
		return bucketState{}, err
	}
	r.Args.Project = r.State.Project
	return g.liveBucket(ctx, r.ID, r.Args)
}

// deleteBucket deletes a bucket. With forceDestroy, it first deletes all objects with all their versions.
func (g provider) deleteBucket(ctx context.Context, r bucketRequest) error {
	svc, err := g.Storage(ctx)
	if err != nil {
		return err
	}
	for {
		page, err := svc.Objects.List(r.ID).Versions(true).Context(ctx).Do()
		if err != nil {
			return fmt.Errorf("list the objects of bucket %s: %w", r.ID, core.Explain(err))
		}
		if len(page.Items) == 0 {
			break
		}
		if r.State.ForceDestroy == nil || !*r.State.ForceDestroy {
			return fmt.Errorf("bucket %s contains objects: delete them, or set forceDestroy to true and run up, then delete the bucket", r.ID)
		}
		for _, o := range page.Items {
			if err := svc.Objects.Delete(r.ID, o.Name).Generation(o.Generation).Context(ctx).Do(); err != nil && !core.NotFound(err) {
				return fmt.Errorf("delete object %s of bucket %s: %w", o.Name, r.ID, core.Explain(err))
			}
		}
	}
	return core.Explain(svc.Buckets.Delete(r.ID).Context(ctx).Do())
}
