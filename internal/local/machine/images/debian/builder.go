// Package debian assembles OCI images from packages of Debian by recipes, without root, Docker or a program of Debian's. The same
// recipe and lock result in the same bytes.
package debian

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/archive"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/deb"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/tree"
)

const (
	// format changes when an equal recipe results in another image. It is part of the names in the cache.
	format = "1"
	// largest bounds the files of an image in bytes.
	largest = 8 << 30
)

// Builder assembles images. Its methods are safe for concurrent use, even by several processes.
type Builder struct {
	archive archive.Archive
	cache   string
	report  func(string)
}

// Options configures a Builder. The zero value is usable.
type Options struct {
	// Mirror is the address of a mirror of Debian. Empty means archive.FindMirror, when a package is missing in the cache.
	Mirror string
	// Cache is the folder of downloads and results. Empty means a folder in the user's cache.
	Cache string
	// Keys has the keys of suites as keys/SUITE.gpg. Nil means Debian's.
	Keys fs.FS
	// Report gets one line about each step that takes long, and about outdated locks. Nil means none.
	Report func(string)
}

// NewBuilder returns a builder.
func NewBuilder(o Options) (*Builder, error) {
	if o.Cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find the user's cache folder: %w: set HOME or XDG_CACHE_HOME", err)
		}
		o.Cache = filepath.Join(user, "strata", "debian")
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	b := &Builder{cache: o.Cache, report: o.Report}
	b.archive = archive.Archive{Mirror: o.Mirror, Keys: o.Keys, Cache: filepath.Join(o.Cache, "packages")}
	return b, os.MkdirAll(o.Cache, 0o755)
}

// Lock resolves the packages of a recipe in the current release of its suite, without the recipe's lock.
func (b *Builder) Lock(ctx context.Context, r *Recipe, architecture string) (archive.Lock, error) {
	mirrored, err := b.mirrored()
	if err != nil {
		return archive.Lock{}, err
	}
	index, err := mirrored.Index(ctx, r.Suite, architecture)
	if err != nil {
		return archive.Lock{}, err
	}
	packages, err := index.Resolve(r.Packages, r.Without)
	return archive.Lock{Suite: r.Suite, Architecture: architecture, Date: index.Date, Packages: packages}, err
}

// mirrored returns the archive with a mirror.
func (b *Builder) mirrored() (*archive.Archive, error) {
	found := b.archive
	if found.Mirror != "" {
		return &found, nil
	}
	var err error
	found.Mirror, err = archive.FindMirror("/")
	return &found, err
}

// plan is a recipe with the packages that a build uses.
type plan struct {
	*Recipe
	lock archive.Lock
}

// name returns the name of the plan's results in the cache.
func (p plan) name() string {
	sum := sha256.Sum256([]byte(format + "\n" + p.digest + "\n" + p.lock.String()))
	return hex.EncodeToString(sum[:16])
}

// build calls use with the plan of a recipe. If the mirror no longer has a package of the lock, build reports that, and calls
// use again with the packages of the current release.
func (b *Builder) build(ctx context.Context, r *Recipe, use func(plan) error) error {
	lock, err := r.lock(runtime.GOARCH)
	if err != nil {
		return err
	}
	err = use(plan{r, lock})
	gone, outdated := errors.AsType[*archive.GoneError](err)
	if !outdated {
		return err
	}
	b.report(fmt.Sprintf("the lock is outdated, because %s: using Debian's current packages, and the image differs from the pinned one; "+
		"write the lock again with `go run ./images/assemble -lock`", gone.Error()))
	if lock, err = b.Lock(ctx, r, runtime.GOARCH); err != nil {
		return err
	}
	return use(plan{r, lock})
}

// assemble returns the files of an image. The caller must close the tree.
func (b *Builder) assemble(ctx context.Context, p plan) (*tree.Tree, error) {
	mirrored, err := b.mirrored()
	if err != nil && !errors.Is(err, archive.ErrNoMirror) {
		return nil, err
	}
	b.report(fmt.Sprintf("download those of %d packages of Debian %s that are not in the cache", len(p.lock.Packages), p.Suite))
	paths, err := mirrored.Fetch(ctx, p.lock.Packages)
	if err != nil {
		return nil, err
	}
	b.report("unpack the packages")
	t, err := tree.New(b.cache, largest)
	if err != nil {
		return nil, err
	}
	status, err := unpack(ctx, t, p.lock.Packages, paths)
	if err == nil {
		err = settle(t, p, status)
	}
	if err == nil {
		err = p.apply(t, p.lock.Date)
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("assemble an image: %w", err)
	}
	return t, nil
}

// first is the package with the links from /bin, /lib and /sbin to folders in /usr: files of other packages follow these links.
const first = "base-files"

// unpack adds the files of packages, and returns the text of dpkg's status file.
func unpack(ctx context.Context, t *tree.Tree, packages []archive.Package, paths []string) (status string, err error) {
	order := make([]int, 0, len(packages))
	for i, p := range packages {
		if p.Name == first {
			order = slices.Insert(order, 0, i)
			continue
		}
		order = append(order, i)
	}
	controls := make([]string, len(packages))
	for _, i := range order {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		t.Owner = "package " + packages[i].Name
		control, err := deb.Read(paths[i], func(h *tar.Header, r io.Reader) error { return t.Add(h, r) })
		if err != nil {
			return "", err
		}
		controls[i] = strings.TrimSpace(control) + "\nStatus: install ok installed\n"
	}
	t.Owner = "the recipe"
	return strings.Join(controls, "\n"), nil
}
