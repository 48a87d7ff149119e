package flux

import (
	"context"
	"path"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/flux/bootstrap"
	"github.com/strata-platform/strata/internal/local/plugins/flux/manifests"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
)

// outdated returns "repositoryFiles" if the files in the state are not those of the provider's repository, whose URL they
// contain, or if the cluster does not have what the files describe. A warning names each such object.
func (b *bootstrapper) outdated(ctx context.Context, last, news property.Map) []string {
	var s state
	var i options.Install
	if b.config.Git.URL == "" || codec.Decode(last, &s) != nil || codec.Decode(news, &i) != nil {
		return nil // the operations report the error
	}
	o := b.options(ctx, i).WithDefaults()
	sync, content, err := manifests.RenderSync(o)
	if err != nil {
		return nil
	}
	if s.RepositoryFiles[sync] == content && len(b.drifted(ctx, o, s.RepositoryFiles)) == 0 {
		return nil
	}
	return []string{"repositoryFiles"}
}

// driftLimit bounds the comparison with the cluster within a preview.
const driftLimit = 20 * time.Second

// drifted returns the differences between the files and the cluster, and warns about each. A preview may run before the
// cluster exists, so it returns nothing for a cluster that it cannot read.
func (b *bootstrapper) drifted(ctx context.Context, o options.Options, files map[string]string) []string {
	ctx, cancel := context.WithTimeout(ctx, driftLimit)
	defer cancel()
	found, err := bootstrap.Drift(ctx, o, files)
	if err != nil {
		o.Logger.Generatef("Flux was not compared with the cluster: %s", err)
	}
	for _, difference := range found {
		o.Logger.Warningf("%s: up installs it again", difference)
	}
	return found
}

// resetDrifted empties the file of the root sync if the cluster does not have what the files describe. The Terraform provider
// does the same in a refresh: the next up then finds another content than it expects, and installs Flux again.
func (b *bootstrapper) resetDrifted(ctx context.Context, o options.Options, files map[string]string) {
	if sync := path.Join(o.Folder(), options.SyncFile); files[sync] != "" && len(b.drifted(ctx, o, files)) > 0 {
		files[sync] = ""
	}
}
