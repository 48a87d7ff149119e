// Package archive reads an archive of Debian: it resolves the packages of an image, pins them in a lock, and downloads them.
//
// Nothing trusts the mirror. A lock contains the SHA256 sum of each package, and is part of a repository. An index counts only if
// the stable release key of its suite, which this package contains, has signed it: so its sums are Debian's, even over HTTP. An
// old signed index can hide newer versions; it cannot bring in a package that Debian has not released.
package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/deb"
)

const (
	// largestPackage and largestIndex bound downloads in bytes.
	largestPackage, largestIndex = 1 << 30, 64 << 20
	// parallel is the number of packages that Fetch downloads at the same time.
	parallel = 4
	// connectTimeout bounds the wait for the headers of an answer.
	connectTimeout = 30 * time.Second
)

// GoneError means that the mirror no longer has a package of a lock: the archive of a suite keeps only the current version.
type GoneError struct{ Package Package }

// Error names the package.
func (e *GoneError) Error() string {
	return fmt.Sprintf("the mirror has no %s %s anymore", e.Package.Name, e.Package.Version)
}

// Archive is a mirror with a cache. Its methods are safe for concurrent use, even by several processes.
type Archive struct {
	// Mirror is the address of the folder that contains dists and pool. If it is empty, only the cache provides packages.
	Mirror string
	// Cache is a folder for downloaded packages, by their sums.
	Cache string
	// Client sends the requests. Nil means a client with the proxy of the environment.
	Client *http.Client
	// Keys has the keys of suites as keys/SUITE.gpg. Nil means Debian's.
	Keys fs.FS
}

// Index lists the packages of a suite.
type Index struct {
	Suite, Architecture string
	// Date is the date of the release.
	Date     time.Time
	packages map[string]*Package
}

// Index downloads and verifies the index of the component main.
func (a *Archive) Index(ctx context.Context, suite, architecture string) (*Index, error) {
	fail := func(err error) error { return fmt.Errorf("read the index of Debian's suite %s: %w", suite, err) }
	ring, err := a.keyOf(suite)
	if err != nil {
		return nil, fail(err)
	}
	signed, err := a.read(ctx, "dists/"+suite+"/InRelease")
	if err != nil {
		return nil, fail(err)
	}
	r, err := readRelease(suite, ring, signed)
	if err != nil {
		return nil, fail(fmt.Errorf("InRelease of the mirror: %w", err))
	}
	name := "main/binary-" + architecture + "/Packages.xz"
	sum := r.sums[name]
	if sum == "" {
		return nil, fail(fmt.Errorf("it has no packages for %q", architecture))
	}
	folder, _ := filepath.Split(name)
	// The name with the sum stays valid while the mirror changes to the next release.
	content, err := a.read(ctx, "dists/"+suite+"/"+folder+"by-hash/SHA256/"+sum)
	if err != nil {
		return nil, fail(err)
	}
	if have := sha256.Sum256(content); hex.EncodeToString(have[:]) != sum {
		return nil, fail(errors.New("the mirror's index differs from its signed sum"))
	}
	plain, closePlain, err := deb.Decompress(bytes.NewReader(content))
	if err != nil {
		return nil, fail(err)
	}
	defer closePlain()
	packages, err := readIndex(plain)
	if err != nil {
		return nil, fail(err)
	}
	return &Index{Suite: suite, Architecture: architecture, Date: r.date, packages: packages}, nil
}

// read returns a small file of the mirror.
func (a *Archive) read(ctx context.Context, name string) ([]byte, error) {
	body, err := a.get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, largestIndex+1))
	if err == nil && len(content) > largestIndex {
		err = fmt.Errorf("%s has more than %d bytes", name, largestIndex)
	}
	return content, err
}

// errNotFound means that the mirror does not have a file.
var errNotFound = errors.New("the mirror does not have this file")

// get requests a file of the mirror.
func (a *Archive) get(ctx context.Context, name string) (io.ReadCloser, error) {
	if a.Mirror == "" {
		return nil, ErrNoMirror
	}
	address := strings.TrimSuffix(a.Mirror, "/") + "/" + name
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := a.Client
	if client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = connectTimeout
		client = &http.Client{Transport: transport}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		err := fmt.Errorf("get %s: %s", request.URL.Redacted(), response.Status)
		if response.StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %w", err, errNotFound)
		}
		return nil, err
	}
	return response.Body, nil
}

// Fetch downloads the packages that the cache does not contain, and returns their paths in the same order. The error is a
// *GoneError if the mirror no longer has a package.
func (a *Archive) Fetch(ctx context.Context, packages []Package) ([]string, error) {
	if err := os.MkdirAll(a.Cache, 0o755); err != nil {
		return nil, err
	}
	paths := make([]string, len(packages))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, p := range packages {
		paths[i] = filepath.Join(a.Cache, p.SHA256+".deb")
		group.Go(func() error {
			if err := a.fetch(ctx, p, paths[i]); err != nil {
				return fmt.Errorf("download Debian's package %s %s: %w", p.Name, p.Version, err)
			}
			return nil
		})
	}
	return paths, group.Wait()
}

// fetch downloads one package.
func (a *Archive) fetch(ctx context.Context, p Package, path string) error {
	if err := p.check(); err != nil {
		return err
	}
	// The name is the sum, and files get the name after a check.
	if info, err := os.Stat(path); err == nil && info.Size() == p.Size {
		return nil
	}
	body, err := a.get(ctx, p.File)
	if errors.Is(err, errNotFound) {
		return &GoneError{p}
	}
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.CreateTemp(a.Cache, "partial-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, p.Size+1)); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != p.SHA256 {
		return errors.New("the mirror's file differs from the pinned sum")
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
