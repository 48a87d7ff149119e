package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A Request describes the groups to fetch. All fields are required.
type Request struct {
	// Source and File are the arguments of Open.
	Source, File string
	// Digest is the digest of the bundle's manifest, SHA-256 in hexadecimal.
	Digest string
	// Groups are the groups to fetch. Their files are ignored.
	Groups []Group
	// Cache is the folder that gets the groups' folders. Stage is an empty folder on the same file system, which the caller
	// removes.
	Cache, Stage string
	// Report is called with the number of bytes written so far and to write in all.
	Report func(done, all int64)
}

// Fetch copies groups from a bundle into the cache: all of them, or none. It returns the names of their tools.
func (r Request) Fetch(ctx context.Context) (names []string, err error) {
	if err := CheckDigest(r.Digest); err != nil {
		return nil, err
	}
	archive, err := Open(ctx, r.Source, r.File)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	reader, err := Read(&interruptible{ctx, archive}, r.Digest)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var groups []string
	for _, g := range r.Groups {
		if err := reader.Manifest.offers(g); err != nil {
			return nil, err
		}
		groups = append(groups, g.Name)
		for _, t := range g.Tools {
			names = append(names, t.Name)
		}
	}
	if err := reader.Extract(r.Stage, groups, r.Report); err != nil {
		return nil, err
	}
	for _, g := range r.Groups {
		if err := os.Rename(filepath.Join(r.Stage, g.Folder), filepath.Join(r.Cache, g.Folder)); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// Verify reads a whole bundle, and returns an error unless it has this manifest, is for the platform, and contains nothing
// but the manifest's files. It returns the digest of the manifest.
func Verify(archive io.Reader, manifest []byte, platform string) (digest string, err error) {
	digest = digestOf(manifest)
	reader, err := Read(archive, digest)
	if err != nil {
		return "", err
	}
	defer reader.Close()
	if reader.Manifest.Platform != platform {
		return "", fmt.Errorf("its tools are for %s", reader.Manifest.Platform)
	}
	return digest, reader.walk(func(b blob) error { return copyVerified(io.Discard, reader.archive, b) })
}

// offers returns an error unless the bundle contains all tools of a group, for this platform and with the same pins.
func (m Manifest) offers(wanted Group) error {
	if m.Platform != ThisPlatform() {
		return fmt.Errorf("its tools are for %s, not for %s: take the bundle of this platform", m.Platform, ThisPlatform())
	}
	for _, g := range m.Groups {
		if g.Name != wanted.Name {
			continue
		}
		if g.Folder != wanted.Folder {
			return fmt.Errorf("its tools have other pins than this strata (%s; this strata: %s): take the bundle of the same release", g.versions(), wanted.versions())
		}
		for _, t := range wanted.Tools {
			if !g.contains(t.Name) {
				return fmt.Errorf("it does not contain %s: take the bundle of the same release", t.Name)
			}
		}
		return nil
	}
	return fmt.Errorf("it does not contain %s: take the bundle of the same release", wanted.versions())
}

// contains reports whether the group contains a tool: a program, or a folder with files.
func (g Group) contains(tool string) bool {
	for _, f := range g.Files {
		if f.Path == tool && f.Executable || strings.HasPrefix(f.Path, tool+"/") {
			return true
		}
	}
	return false
}

// versions lists the tools with their versions.
func (g Group) versions() string {
	var list []string
	for _, t := range g.Tools {
		list = append(list, t.Name+" "+t.Version)
	}
	return strings.Join(list, ", ")
}

// An interruptible reader fails when its context ends.
type interruptible struct {
	ctx    context.Context
	reader io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.reader.Read(p)
}

// CheckDigest returns an error unless text is a SHA-256 digest in hexadecimal.
func CheckDigest(text string) error {
	if !digestText.MatchString(text) {
		return errors.New("a SHA-256 digest has 64 digits from 0-9 and a-f")
	}
	return nil
}
