package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// versions matches the tags of versions, such as 1.4.0.
var versions = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// fluxConfig is the media type of the configuration of an artifact for Flux (fluxcd/pkg/oci).
const fluxConfig types.MediaType = "application/vnd.cncf.flux.config.v1+json"

// refer stores the references of a pushed manifest. It refuses to replace the version of an artifact for Flux: two jobs that publish
// at the same time choose the same version, and Flux refuses a version that changes. Tags of images for pods may move.
func (c *call) refer(ctx context.Context, pushed name.Reference, references ...store.Reference) error {
	if _, isTag := pushed.(name.Tag); !isTag || !versions.MatchString(c.argument) {
		return c.store.Refer(ctx, references...)
	}
	// The lock lets one push of a version at a time look for the version and store it.
	c.tagging.Lock()
	defer c.tagging.Unlock()
	held, err := c.store.Resolve(pushed.Name())
	if fault.Of(err) == fault.NotFound {
		return c.store.Refer(ctx, references...)
	}
	if err != nil {
		return err
	}
	isArtifact, err := c.isArtifact(held)
	if err != nil {
		return err
	}
	if isArtifact && held.Digest != references[0].Target.Digest {
		return refusal{http.StatusConflict, "DENIED", fmt.Sprintf("the version %s exists as %s, and the version of an artifact cannot change: push a higher version",
			c.argument, held.Digest)}
	}
	return c.store.Refer(ctx, references...)
}

// isArtifact reports whether a manifest is that of an artifact for Flux.
func (c *call) isArtifact(target v1.Descriptor) (bool, error) {
	if !target.MediaType.IsImage() {
		return false, nil
	}
	content, err := c.store.Read(target.Digest)
	if err != nil {
		return false, err
	}
	var manifest struct {
		Config struct {
			MediaType types.MediaType `json:"mediaType"`
		} `json:"config"`
	}
	err = json.Unmarshal(content, &manifest)
	return manifest.Config.MediaType == fluxConfig, err
}
