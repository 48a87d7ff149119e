// Package licences finds the licences of all packages that the module's programs link.
package licences

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Package is a package of another module, in the form of `go list -json`.
type Package struct {
	ImportPath string
	Dir        string
	Module     *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// Linked returns the packages of other modules that the packages of the module in a folder link, without those that only
// tests import. Go's module cache must contain them.
func Linked(ctx context.Context, dir string) ([]Package, error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Module", "./...")
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the linked packages: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var all []Package
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the linked packages: %w", err)
		}
		// A package of the standard library has no module.
		if p.Module != nil && !p.Module.Main {
			all = append(all, p)
		}
	}
}

// licenceFile matches the names of licence files.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._][^/]*)?$`)

// leastCovered is the minimum percentage of a file that a known licence must cover. The rest are names and years.
const leastCovered = 70

// Of returns the SPDX identifiers of a package's licences by file: it searches the package's folder and its parents, up
// to the module's folder. It returns an error for a package without a licence, and for a file with an unknown licence.
func Of(p Package) (map[string][]string, error) {
	found := map[string][]string{}
	for dir := p.Dir; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read the licences of %s: %w", p.ImportPath, err)
		}
		for _, entry := range entries {
			if entry.IsDir() || !licenceFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			if found[path], err = read(path); err != nil {
				return nil, fmt.Errorf("read the licences of %s: %w", p.ImportPath, err)
			}
		}
		if dir == p.Module.Dir || len(dir) <= len(p.Module.Dir) {
			break
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no licence: %s contains neither LICENSE nor COPYING", p.ImportPath, p.Module.Dir)
	}
	return found, nil
}

// read returns the identifiers of the licences in a file.
func read(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	coverage := licensecheck.Scan(text)
	var ids []string
	for _, match := range coverage.Match {
		if !slices.Contains(ids, match.ID) {
			ids = append(ids, match.ID)
		}
	}
	if len(ids) == 0 || coverage.Percent < leastCovered {
		return ids, fmt.Errorf("%s: only %.0f%% of it is a known licence (%s)", path, coverage.Percent, strings.Join(ids, ", "))
	}
	return ids, nil
}
