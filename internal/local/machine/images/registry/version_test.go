package registry_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
)

func TestTheVersionOfAnArtifactKeepsItsContent(t *testing.T) {
	image := func(content string) v1.Image { return imagetest.Image(t, imagetest.Files{"a": content}) }
	artifact := func(content string) v1.Image {
		made := mutate.MediaType(image(content), types.OCIManifestSchema1)
		return mutate.ConfigMediaType(made, "application/vnd.cncf.flux.config.v1+json")
	}
	for name, c := range map[string]struct {
		tag           string
		first, second v1.Image
		refused       bool
	}{
		"another artifact":            {"1.4.0", artifact("1"), artifact("2"), true},
		"an image":                    {"1.4.0", artifact("1"), image("2"), true},
		"the same artifact":           {"1.4.0", artifact("1"), artifact("1"), false},
		"a tag that is no version":    {"latest", artifact("1"), artifact("2"), false},
		"the version of an image":     {"1.4.0", image("1"), image("2"), false},
		"a version after an image":    {"1.4.0", image("1"), artifact("2"), false},
		"a version with other digits": {"1.4.0-rc.1", artifact("1"), artifact("2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			host, s := started(t)
			digest := imagetest.Push(t, host+"/web/deploy:"+c.tag, c.first, as("web"))
			err := remote.Write(reference(t, host+"/web/deploy:"+c.tag), c.second, as("web"))
			if (err != nil) != c.refused || c.refused && !strings.Contains(fmt.Sprint(err), "exists as "+digest.String()) {
				t.Errorf("the error is %v", err)
			}
			held, err := s.Resolve(host + "/web/deploy:" + c.tag)
			if err != nil || c.refused && held.Digest != digest {
				t.Errorf("the tag is %v, %v, want %s", held.Digest, err, digest)
			}
		})
	}
}
