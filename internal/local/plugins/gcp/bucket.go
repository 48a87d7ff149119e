package gcp

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// bucketNames matches the names of buckets.
var bucketNames = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{1,220}[a-z0-9]$`)

type bucketRequest = frame.Request[bucketArgs, bucketState]

func (g *plugin) bucket() frame.Resource {
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

// checkBucketName refuses invalid bucket names.
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

// unlockingRetention reports a change that unlocks a retention policy. It replaces the bucket, because nobody can
// unlock the policy of an existing one.
func unlockingRetention(olds, news property.Map) []string {
	const path = "retentionPolicy.isLocked"
	locked := func(m property.Map) bool { v := frame.At(m, path); return v.IsBool() && v.AsBool() }
	if locked(olds) && !locked(news) {
		return []string{path}
	}
	return nil
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
	b := r.Args.api(g.clients.settings.DefaultLabels)
	b.Name, b.Location, b.CustomPlacementConfig = r.Args.Name, r.Args.Location, r.Args.CustomPlacementConfig
	call := svc.Buckets.Insert(project, b)
	if r.Args.EnableObjectRetention {
		call.EnableObjectRetention(true)
	}
	made, err := call.Context(ctx).Do()
	if err != nil {
		return "", bucketState{}, explained(err)
	}
	r.Args.Project = project
	if err := lockRetention(ctx, svc, r.Args, made); err != nil {
		return made.Name, bucketState{bucketSpec: r.Args.bucketSpec}, err
	}
	state, err := g.liveBucket(ctx, made.Name, r.Args)
	if err != nil {
		return made.Name, bucketState{bucketSpec: r.Args.bucketSpec}, err
	}
	return made.Name, state, nil
}

// lockRetention locks the retention policy of a bucket if the program asks for that. Nobody can unlock it again.
func lockRetention(ctx context.Context, svc *storage.Service, a bucketArgs, b *storage.Bucket) error {
	if a.RetentionPolicy == nil || !a.RetentionPolicy.IsLocked || b.RetentionPolicy == nil || b.RetentionPolicy.IsLocked {
		return nil
	}
	if _, err := svc.Buckets.LockRetentionPolicy(b.Name, b.Metageneration).Context(ctx).Do(); err != nil {
		return fmt.Errorf("lock the retention policy: %w", explained(err))
	}
	return nil
}

func (g *plugin) readBucket(ctx context.Context, r bucketRequest) (string, bucketState, error) {
	project, name, ok := strings.Cut(r.ID, "/")
	if !ok {
		project, name = "", r.ID
	}
	r.Args.Project = first(project, r.State.Project)
	state, err := g.liveBucket(ctx, name, r.Args)
	if r.Importing {
		state.Labels = state.EffectiveLabels
	}
	return name, state, err
}

// liveBucket returns a bucket as the service has it. Labels that the program does not set belong to somebody else, as
// in the official provider: they appear only in EffectiveLabels.
func (g *plugin) liveBucket(ctx context.Context, name string, known bucketArgs) (bucketState, error) {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return bucketState{}, fmt.Errorf("make Storage client: %w", err)
	}
	b, err := svc.Buckets.Get(name).Context(ctx).Do()
	if err != nil {
		return bucketState{}, explained(err)
	}
	project, err := g.project(known.Project)
	if err != nil {
		return bucketState{}, err
	}
	state := bucketState{bucketSpec: bucketOf(b, project), EffectiveLabels: map[string]string{}, URL: "gs://" + b.Name}
	state.Labels, state.PulumiLabels = map[string]string{}, map[string]string{}
	ours := withDefaultLabels(known.Labels, g.clients.settings.DefaultLabels)
	for k, v := range b.Labels {
		state.EffectiveLabels[k] = v
		if _, ok := ours[k]; ok {
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

func (g *plugin) updateBucket(ctx context.Context, r bucketRequest) (bucketState, error) {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return bucketState{}, fmt.Errorf("make Storage client: %w", err)
	}
	b := r.Args.api(g.clients.settings.DefaultLabels)
	b.ForceSendFields = append(b.ForceSendFields, "Labels") // otherwise the call would omit the labels to remove
	for k := range r.Old.Labels {
		if _, kept := b.Labels[k]; !kept {
			b.NullFields = append(b.NullFields, "Labels."+k)
		}
	}
	for field, taken := range map[string]bool{
		"Cors": len(b.Cors) == 0, "Encryption": b.Encryption == nil, "Lifecycle": b.Lifecycle == nil, "Logging": b.Logging == nil,
		"RetentionPolicy": b.RetentionPolicy == nil, "Website": b.Website == nil,
	} {
		if taken {
			b.NullFields = append(b.NullFields, field)
		}
	}
	if r.Args.Autoclass == nil && r.Old.Autoclass != nil {
		b.Autoclass = &storage.BucketAutoclass{ForceSendFields: []string{"Enabled"}}
	}
	patched, err := svc.Buckets.Patch(r.ID, b).Context(ctx).Do()
	if err != nil {
		return bucketState{}, explained(err)
	}
	if err := lockRetention(ctx, svc, r.Args, patched); err != nil {
		return bucketState{}, err
	}
	r.Args.Project = r.State.Project
	return g.liveBucket(ctx, r.ID, r.Args)
}

func (g *plugin) deleteBucket(ctx context.Context, r bucketRequest) error {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return fmt.Errorf("make Storage client: %w", err)
	}
	for {
		page, err := svc.Objects.List(r.ID).Versions(true).Context(ctx).Do()
		if err != nil {
			return fmt.Errorf("look whether the bucket is empty: %w", explained(err))
		}
		if len(page.Items) == 0 {
			break
		}
		if r.State.ForceDestroy == nil || !*r.State.ForceDestroy {
			return fmt.Errorf("bucket %s holds objects: remove them, or set forceDestroy, run up, and delete the bucket then", r.ID)
		}
		for _, o := range page.Items {
			if err := svc.Objects.Delete(r.ID, o.Name).Generation(o.Generation).Context(ctx).Do(); err != nil && !gone(err) {
				return fmt.Errorf("empty the bucket: delete %s: %w", o.Name, explained(err))
			}
		}
	}
	return explained(svc.Buckets.Delete(r.ID).Context(ctx).Do())
}
