package publish

import (
	"errors"
	"fmt"

	"github.com/Masterminds/semver/v3"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// errTaken says that another publication has taken the version meanwhile.
var errTaken = errors.New("another publication has taken the version meanwhile")

// mostAttempts bounds the versions that one publication tries.
const mostAttempts = 10

// tag gives the artifact the tag of its version, which existed with the digest before. It returns errTaken if the tag belongs to
// another artifact. A registry with immutable tags refuses to replace the other artifact; every registry has its own answer for that,
// so only the tag itself decides. A registry that replaces tags keeps the last of two pushes: reading the tag immediately before
// and after the push finds the other one, unless it comes later than both.
func (p publication) tag(made v1.Image, digest v1.Hash, version string) error {
	held, err := p.digest(version)
	if err != nil {
		return err
	}
	var pushed error
	if held == (v1.Hash{}) {
		pushed = remote.Write(p.repository.Tag(version), made, p.remote...)
		if held, err = p.digest(version); err != nil {
			return errors.Join(pushed, err)
		}
	}
	switch held {
	case digest:
		return nil
	case v1.Hash{}:
		if pushed == nil {
			pushed = fmt.Errorf("the registry has accepted the tag %s, and does not contain it: publish again", version)
		}
		return pushed
	}
	return errTaken
}

// choose returns the version of the artifact, and the digest of that version if the repository contains it.
func (p publication) choose(layer []byte, origin Origin) (version string, existing v1.Hash, err error) {
	if p.Version != "" {
		if parse(p.Version) == nil {
			return "", v1.Hash{}, fmt.Errorf("the version %q is not one such as 1.4.0: three numbers of at most six digits", p.Version)
		}
		existing, err := p.digest(p.Version)
		return p.Version, existing, err
	}
	highest, err := p.highest()
	if err != nil {
		return "", v1.Hash{}, err
	}
	if highest == nil {
		return first, v1.Hash{}, nil
	}
	existing, err = p.digest(highest.Original())
	if err != nil {
		return "", v1.Hash{}, err
	}
	same, err := artifact(layer, highest.Original(), origin.revision())
	if err != nil {
		return "", v1.Hash{}, err
	}
	if digest, err := same.Digest(); err != nil || digest == existing {
		return highest.Original(), existing, err
	}
	return highest.IncPatch().String(), v1.Hash{}, nil
}

// highest returns the highest version in the repository, or nil. Tags that are no versions, such as those of signatures, do not
// count.
func (p publication) highest() (*semver.Version, error) {
	tags, err := remote.List(p.repository, p.remote...)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var highest *semver.Version
	for _, tag := range tags {
		if version := parse(tag); version != nil && (highest == nil || version.GreaterThan(highest)) {
			highest = version
		}
	}
	return highest, nil
}

// parse returns a version in the form that the policy strata-versions compares, or nil: three numbers below a million. 0.0.0 stands
// for no version there.
func parse(text string) *semver.Version {
	version, err := semver.StrictNewVersion(text)
	const million = 1_000_000
	if err != nil || text == "0.0.0" || version.Prerelease() != "" || version.Metadata() != "" ||
		version.Major() >= million || version.Minor() >= million || version.Patch() >= million {
		return nil
	}
	return version
}

// digest returns the digest of a tag, or a zero one if the repository does not contain the tag.
func (p publication) digest(tag string) (v1.Hash, error) {
	found, err := remote.Head(p.repository.Tag(tag), p.remote...)
	if missing(err) {
		return v1.Hash{}, nil
	}
	if err != nil {
		return v1.Hash{}, err
	}
	return found.Digest, nil
}
