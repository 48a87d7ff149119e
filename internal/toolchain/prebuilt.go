package toolchain

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/toolchain/filelock"
	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
)

// bundleDigest is the digest of the manifest of this platform's bundle, which `make release` sets by the linker. It is empty
// in other builds.
var bundleDigest string

// BundleDigest returns the digest of the bundle that belongs to this strata, or "" if this strata is not a release.
func BundleDigest() string { return bundleDigest }

// prebuiltGo takes the place of the version of Go in the addresses of fetched tools. Any version may have built them.
const prebuiltGo = "prebuilt"

// prebuiltDir returns the cache folder of a bundle's fetched tools. If it exists, it is complete.
func (t *Toolchain) prebuiltDir(b bundle) string {
	return filepath.Join(t.cache, b.name+"-"+address(b, t.modules[b.name], prebuiltGo))
}

// A Pin is a tool and its pinned version.
type Pin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Module  string `json:"module"` // the module with that version
}

// Pins returns the pins of all tools, in the order of Names.
func (t *Toolchain) Pins() []Pin {
	var pins []Pin
	for _, b := range t.bundles {
		for _, tl := range b.tools {
			pins = append(pins, Pin{tl.name, t.modules[b.name].versions[tl.pin], tl.pin})
		}
	}
	return pins
}

// group returns a bundle's tools as a manifest lists them, without their files.
func (t *Toolchain) group(b bundle) prebuilt.Group {
	g := prebuilt.Group{Name: b.name, Folder: filepath.Base(t.prebuiltDir(b))}
	for _, tl := range b.tools {
		g.Tools = append(g.Tools, prebuilt.Tool{Name: tl.name, Version: t.modules[b.name].versions[tl.pin]})
	}
	return g
}

// Bundle returns the manifest of this platform's tools, and a function that writes their bundle. It builds missing tools, and
// passes events to report. It refuses tools that the environment overrides, because nobody could build them again.
func (t *Toolchain) Bundle(ctx context.Context, report func(Event)) (prebuilt.Manifest, func(io.Writer) error, error) {
	for _, name := range t.Names() {
		if path, ok := overridden(name); ok {
			return prebuilt.Manifest{}, nil, fmt.Errorf("bundle the tools: %s names %s: unset it", OverrideVariable(name), path)
		}
	}
	if err := t.Ensure(ctx, report, t.Names()...); err != nil {
		return prebuilt.Manifest{}, nil, err
	}
	var groups []prebuilt.Group
	folders := map[string]string{}
	for _, b := range t.bundles {
		dir, err := t.dir(ctx, b)
		if err != nil {
			return prebuilt.Manifest{}, nil, err
		}
		g := t.group(b)
		if g.Files, err = prebuilt.Describe(dir, g.Tools); err != nil {
			return prebuilt.Manifest{}, nil, fmt.Errorf("bundle the tools: %w", err)
		}
		folders[b.name] = dir
		groups = append(groups, g)
	}
	m := prebuilt.New(groups)
	return m, func(w io.Writer) error {
		return m.Write(w, func(g prebuilt.Group) string { return folders[g.Name] })
	}, nil
}

// Fetch copies the tools that are not in the cache from the bundle at source, which prebuilt.Open describes. The manifest of
// the bundle must have the digest. After an error, the cache is as before. Fetch calls report with the number of bytes
// written so far and to write in all. It returns the names of the fetched tools, and reads nothing if none is missing.
func (t *Toolchain) Fetch(ctx context.Context, source, file, digest string, report func(done, all int64)) ([]string, error) {
	if len(t.absent(ctx)) == 0 {
		return nil, nil
	}
	names, err := t.fetch(ctx, prebuilt.Request{Source: source, File: file, Digest: digest, Cache: t.cache, Report: report})
	if err != nil {
		return nil, fmt.Errorf("fetch the tools from %s: %w", prebuilt.Printable(source), explain(err, t.cache))
	}
	return names, nil
}

// fetch sends a request for the missing tools. One process at a time fetches, into a folder that the next call, or Prune,
// removes if this process is killed.
func (t *Toolchain) fetch(ctx context.Context, r prebuilt.Request) ([]string, error) {
	if err := os.MkdirAll(t.cache, 0o755); err != nil {
		return nil, err
	}
	folder := filepath.Join(t.cache, "fetch-0000000000000000") // a name that Prune knows
	unlock, err := filelock.Take(ctx, folder+".lock", func() {})
	if err != nil {
		return nil, err
	}
	defer unlock()
	if r.Stage, err = (job{dir: folder}).stage(); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(r.Stage) }()
	if r.Groups = t.absent(ctx); len(r.Groups) == 0 {
		return nil, nil // Another process has fetched them.
	}
	return r.Fetch(ctx)
}

// absent returns the groups with tools that are not in the cache. Without Go, Strata does not find tools that it has built.
func (t *Toolchain) absent(ctx context.Context) []prebuilt.Group {
	var list []prebuilt.Group
	for _, b := range t.bundles {
		dir, err := t.dir(ctx, b)
		for _, tl := range b.tools {
			if _, ok := overridden(tl.name); !ok && (err != nil || !exists(filepath.Join(dir, tl.name))) {
				list = append(list, t.group(b))
				break
			}
		}
	}
	return list
}
