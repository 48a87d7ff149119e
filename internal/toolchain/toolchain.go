// Package toolchain builds the programs of a local platform from pinned Go modules, and caches them.
//
// The modules are the folders under tools/; only their go.mod files set the versions. A tool is built when it is first
// needed, into a folder of the user's cache whose name depends on every input of the build. So a change of a pin always
// causes a build, and two clones share equal builds.
package toolchain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// A Toolchain provides the tools that one repository pins. It reads the pins once, when it is opened. It is safe for
// concurrent use, even by several processes.
type Toolchain struct {
	sources sources.Sources
	cache   string
	modules map[string]*module // by bundle name
	bundles []bundle

	mu        sync.Mutex
	goVersion string              // of the go command; empty before askGo
	checked   map[string]struct{} // overrides with the right version, as name=path
}

// A Status is the state of one tool.
type Status struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Module  string `json:"module"`         // the module with that version
	State   State  `json:"state"`          // ready, missing or override
	Path    string `json:"path,omitempty"` // the path of the tool, which a missing tool gets when it is built
}

// A State says whether a tool is available.
type State string

const (
	// Ready means that the tool is in the cache.
	Ready State = "ready"
	// Missing means that the tool will be built when it is first needed, unless it is fetched before.
	Missing State = "missing"
	// Override means that the environment names the user's own binary.
	Override State = "override"
)

// Open reads the pins of the clone at root. If root is no clone, such as an organisation's repository or "", it reads those
// in this program.
func Open(root string) (*Toolchain, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the user's cache folder: %w: set HOME or XDG_CACHE_HOME", err)
	}
	return open(root, filepath.Join(cache, "strata", "tools"), catalogue())
}

func open(root, cache string, bundles []bundle) (*Toolchain, error) {
	from, err := sources.Of(root)
	if err != nil {
		return nil, err
	}
	t := &Toolchain{
		sources: from, cache: cache,
		modules: map[string]*module{},
		bundles: bundles,
		checked: map[string]struct{}{},
	}
	for _, b := range bundles {
		m, err := readModule(from, b)
		if err != nil {
			return nil, fmt.Errorf("open the toolchain of %s: %w", from, err)
		}
		t.modules[b.name] = m
	}
	return t, nil
}

// Cache returns the folder of the tools. The first build creates it.
func (t *Toolchain) Cache() string { return t.cache }

// Names returns the names of all tools, in the recommended order of building.
func (t *Toolchain) Names() []string {
	var names []string
	for _, b := range t.bundles {
		for _, tl := range b.tools {
			names = append(names, tl.name)
		}
	}
	return names
}

// Version returns the pinned version of a tool, or "" for an unknown name.
func (t *Toolchain) Version(name string) string {
	b, tl, err := t.find(name)
	if err != nil {
		return ""
	}
	return t.modules[b.name].versions[tl.pin]
}

// List returns the state of every tool, in the order of Names. It builds nothing. Without Go on PATH, it finds only the tools
// that were fetched.
func (t *Toolchain) List(ctx context.Context) ([]Status, error) {
	var list []Status
	for _, b := range t.bundles {
		for _, tl := range b.tools {
			status := Status{Name: tl.name, Version: t.Version(tl.name), Module: tl.pin}
			if path, ok := overridden(tl.name); ok {
				status.State, status.Path = Override, path
				list = append(list, status)
				continue
			}
			dir, err := t.dir(ctx, b)
			if err != nil {
				dir = t.prebuiltDir(b) // Without Go, only a bundle can provide the tool.
			}
			status.State, status.Path = Missing, filepath.Join(dir, tl.name)
			if exists(status.Path) {
				status.State = Ready
			}
			list = append(list, status)
		}
	}
	return list, nil
}

// Path returns the absolute path of a tool. It builds the tool if it is missing. Tools of one module, such as pulumi and
// pulumi-language-yaml, are in one folder.
func (t *Toolchain) Path(ctx context.Context, name string) (string, error) {
	if err := t.Ensure(ctx, nil, name); err != nil {
		return "", err
	}
	if path, ok := overridden(name); ok {
		return filepath.Abs(path)
	}
	b, _, err := t.find(name)
	if err != nil {
		return "", err
	}
	dir, err := t.dir(ctx, b)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// Ensure builds those of the named tools that are missing, one after the other, and passes events to report, unless report
// is nil. If the pinned version is on PATH, Ensure copies it instead. It checks tools that the environment overrides, and
// does not build them.
func (t *Toolchain) Ensure(ctx context.Context, report func(Event), names ...string) error {
	if report == nil {
		report = func(Event) {}
	}
	var jobs []job
	for _, name := range names {
		b, tl, err := t.find(name)
		if err != nil {
			return err
		}
		if path, ok := overridden(name); ok {
			if err := t.checkOverride(ctx, tl, t.Version(name), path); err != nil {
				return err
			}
			continue
		}
		dir, err := t.dir(ctx, b)
		if err != nil {
			return err
		}
		if !exists(filepath.Join(dir, name)) {
			jobs = append(jobs, job{tool: tl, same: b.same(tl), module: t.modules[b.name], version: t.Version(name), dir: dir})
		}
	}
	for i, j := range jobs {
		j.report = func(state Progress, e Event) {
			e.Tool, e.Version, e.Progress, e.Index, e.Total = j.tool.name, j.version, state, i+1, len(jobs)
			report(e)
		}
		if err := j.run(ctx); err != nil {
			return fmt.Errorf("build %s %s: %w", j.tool.name, j.version, err)
		}
	}
	return nil
}

func (t *Toolchain) find(name string) (bundle, tool, error) {
	for _, b := range t.bundles {
		for _, tl := range b.tools {
			if tl.name == name {
				return b, tl, nil
			}
		}
	}
	return bundle{}, tool{}, fmt.Errorf("no tool is named %q: the tools are %s", name, strings.Join(t.Names(), ", "))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
