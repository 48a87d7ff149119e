package repository

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/operator/config"
)

// operatorFile is the file of layer 3 that pins the image of upstream's operator, and kindsFile the one that pins its kinds.
const (
	operatorFile = "sync/operator/gke/kustomization.yaml"
	kindsFile    = "sync/clusters/gke/operator.yaml"
)

var (
	operatorTag = regexp.MustCompile(`(?m)^ +newTag: (\S+)$`)
	kindsCommit = regexp.MustCompile(`(?m)^ +commit: ([0-9a-f]{40})$`)
)

// Offered returns the versions of this strata and of the repository's layer 3, for upstream's operator or for the embedded one.
func (r Repository) Offered(upstream bool) (skew.Offered, error) {
	offered := skew.Offered{Strata: buildinfo.Version}
	offered.SDK, offered.Plugins = skew.SDKs()
	var err error
	if upstream {
		offered.Operator, err = r.upstream()
		return offered, err
	}
	offered.Operator.Tag = buildinfo.Version
	var files fs.FS = config.Files
	if !r.Organisation {
		files = os.DirFS(filepath.Join(r.Root, "operator", "config"))
	}
	offered.Definitions, err = breaking.Definitions(files, "crd/bases")
	return offered, err
}

// upstream returns upstream's operator in the repository's layer 3.
func (r Repository) upstream() (skew.Operator, error) {
	read := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(r.Root, filepath.FromSlash(name))) }
	if r.Organisation {
		layer3, err := parts.Sync()
		if err != nil {
			return skew.Operator{}, err
		}
		read = func(name string) ([]byte, error) { return layer3.File(name), nil }
	}
	image, err := read(operatorFile)
	if err != nil {
		return skew.Operator{}, err
	}
	kinds, err := read(kindsFile)
	if err != nil {
		return skew.Operator{}, err
	}
	tag, commit := operatorTag.FindSubmatch(image), kindsCommit.FindSubmatch(kinds)
	if tag == nil || commit == nil {
		return skew.Operator{}, errors.New("layer 3 names no version of the operator: " + operatorFile + " has no newTag, or " + kindsFile + " no commit")
	}
	return skew.Operator{Tag: string(tag[1]), Commit: string(commit[1])}, nil
}
