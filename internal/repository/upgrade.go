package repository

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/strata-platform/strata/internal/atomicfile"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/platform"
)

// Offered returns the pins of a strata of the given version.
func Offered(version string) (pins.Pins, error) {
	layer3, err := parts.Sync()
	if err != nil {
		return pins.Pins{}, err
	}
	p := pins.Pins{Strata: version, Sync: pins.Sync{URL: SyncURL, Commit: layer3.Commit()}, Versions: map[string]string{}}
	config, err := platform.NewConfig()
	if err != nil {
		return p, err
	}
	p.Versions["flux"] = config.FluxVersion
	tag := operatorTag.FindSubmatch(layer3.File(operatorFile))
	if tag == nil {
		return p, errors.New(operatorFile + " of layer 3 names no version of the operator")
	}
	p.Versions["operator on Google Cloud"] = string(tag[1])
	tools, err := toolchain.Open("")
	if err != nil {
		return p, err
	}
	for _, name := range tools.Names() {
		p.Versions[name] = tools.Version(name)
	}
	return p, nil
}

// A Difference is a version that an upgrade changes.
type Difference struct {
	Name string `json:"name"`
	// Pinned is the version in the repository, and Offered the version of this strata. Empty means none.
	Pinned  string `json:"pinned"`
	Offered string `json:"offered"`
}

// An Upgrade is the change from a repository's pins to those of this strata.
type Upgrade struct {
	Strata  string       `json:"strata"` // the version of this strata
	Changes []Difference `json:"changes"`
	// Next are the commands that make the change; none without changes.
	Next []string `json:"next"`
}

// Compare returns the differences between the pins of the repository and those of a strata of the given version. It changes
// nothing. It returns an error if the repository pins a newer version.
func (r Repository) Compare(version string) (Upgrade, error) {
	u := Upgrade{Strata: version, Changes: []Difference{}, Next: []string{}}
	if !r.Organisation {
		return u, fmt.Errorf("%s is a clone of Strata, and not an organisation's repository: update it with git", r.Root)
	}
	pinned, err := r.Pins()
	if err != nil {
		return u, err
	}
	required, err := r.requirement()
	if err != nil {
		return u, err
	}
	offered, err := Offered(version)
	if err != nil {
		return u, err
	}
	if newest := max(semver.Compare(pinned.Strata, version), semver.Compare(required.version, version)); newest > 0 {
		return u, fmt.Errorf("%s pins a newer Strata than this strata %s: strata.yaml %s, go.mod %s: install the pinned version", r.Root, version, pinned.Strata, required.version)
	}
	add := func(name, before, after string) {
		if before != after {
			u.Changes = append(u.Changes, Difference{name, before, after})
		}
	}
	add("strata", pinned.Strata, version)
	add("module in go.mod", required.version, version)
	add("layer 3", pinned.Sync.Commit, offered.Sync.Commit)
	all := maps.Clone(offered.Versions)
	maps.Copy(all, pinned.Versions)
	// Each system records only its own tools, such as gVisor on Linux. A tool without a record is therefore not a difference.
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before, after := pinned.Versions[name], offered.Versions[name]; before != "" && after != "" {
			add(name, before, after)
		}
	}
	if len(u.Changes) > 0 {
		u.Next = append(u.Next, "strata upgrade")
		// If there is no go.sum, nobody has compiled the programs: strata runs the equal ones that it contains.
		if isFile(filepath.Join(r.Root, "go.sum")) {
			u.Next = append(u.Next, "go mod tidy")
		}
		u.Next = append(u.Next, `git commit --all --message "Update Strata"`, "strata upgrade --plan", "strata upgrade")
	}
	return u, nil
}

// Upgrade makes the change that Compare returns: it writes strata.yaml and the requirement in go.mod, and nothing else.
func (r Repository) Upgrade(version string) (Upgrade, error) {
	u, err := r.Compare(version)
	if err != nil || len(u.Changes) == 0 {
		return u, err
	}
	offered, err := Offered(version)
	if err != nil {
		return u, err
	}
	pinned, err := r.Pins()
	if err != nil {
		return u, err
	}
	offered.Sync.URL = pinned.Sync.URL // The organisation may have its own mirror.
	content, err := offered.Encode()
	if err != nil {
		return u, err
	}
	file, err := r.readGoMod()
	if err != nil {
		return u, err
	}
	if err := file.AddRequire(Module, version); err != nil {
		return u, err
	}
	goMod, err := file.Format()
	if err != nil {
		return u, err
	}
	if err := atomicfile.Replace(r.goMod(), goMod); err != nil {
		return u, err
	}
	return u, atomicfile.Replace(filepath.Join(r.Root, pins.File), content)
}
