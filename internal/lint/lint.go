// Package lint finds files in a repository that a build by Flux must not load, and builds that would take too long.
//
// kustomize-controller builds the commits of teams with kustomize. kustomize accepts addresses wherever it accepts
// paths, and fetches some of them in spite of --no-remote-bases. One build runs at a time for all teams. So this
// package checks a repository before Flux sees it: a build may read only the files of its repository, and no more of
// them than Limits allow.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
)

// Limits bound one build. They count each file and object as often as the build loads it.
type Limits struct {
	// Files is the maximum number of files.
	Files int
	// Bytes is the maximum number of bytes.
	Bytes int64
	// Objects is the maximum number of objects in the manifests. The build's time grows with the square of that
	// number: with kustomize v0.21, 500 objects take 0.6 s, 1000 take 4 s and 2000 take 16 s.
	Objects int
	// Changes is the maximum number of changes times objects. Patches, images and labels in kustomization files are
	// changes, and each change looks at all objects. 10,000 take seconds.
	Changes int
	// File is the maximum size of one file in bytes. A ConfigMap holds at most 1 MiB, and a parser uses a hundred
	// times the size of its input.
	File int64
	// Nodes is the maximum number of YAML values, with aliases expanded. kustomize uses some 4 KB for each.
	Nodes int
}

// DefaultLimits returns limits that are far above the needs of an application, and keep a build within seconds.
// Flux's own manifests are 40 objects in 0.5 MB.
func DefaultLimits() Limits {
	return Limits{Files: 1000, Bytes: 16 << 20, Objects: 500, Changes: 20_000, File: 1 << 20, Nodes: 200_000}
}

// Problem is a reason to reject a repository.
type Problem struct {
	// File is the path of the file in the repository.
	File string
	// Field is the position in the file, for example resources[0]. It is empty if the problem concerns the whole file.
	Field string
	// Reason is a clause without its subject, which is the file or the field.
	Reason string
}

func (p Problem) String() string {
	if p.Field == "" {
		return p.File + " " + p.Reason
	}
	return p.File + ": " + p.Field + " " + p.Reason
}

// most is the maximum number of reported problems.
const most = 20

// Check returns the problems of a repository's files, sorted by file. It does not follow symbolic links, because Flux
// omits them from its builds. It returns an error if it cannot read the file system.
func Check(tree fs.FS, limits Limits) ([]Problem, error) {
	c := newChecker(tree, limits)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Type()&fs.ModeSymlink != 0:
			return c.link(name)
		case entry.IsDir():
			return c.folder(name)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil && len(c.problems) == 0 {
		err = c.bound()
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Field, b.Field))
	})
	// The two decoders may report the same problem.
	return slices.Compact(c.problems), err
}

// errEnough ends the walk at the maximum number of problems.
var errEnough = errors.New("enough problems")

type checker struct {
	tree     fs.FS
	limits   Limits
	problems []Problem
	// sizes maps folders to the sizes of their builds. files maps files to their sizes.
	sizes, files map[string]size
	// inline maps a kustomization file, or a plugin's configuration, to the number of values in its inline patches and
	// plugins.
	inline map[string]int
}

func newChecker(tree fs.FS, limits Limits) *checker {
	return &checker{tree: tree, limits: limits, sizes: map[string]size{}, files: map[string]size{}, inline: map[string]int{}}
}

func (c *checker) report(file, field, format string, args ...any) {
	c.problems = append(c.problems, Problem{File: file, Field: field, Reason: fmt.Sprintf(format, args...)})
}

// link rejects a symbolic link that leads out of the repository.
func (c *checker) link(name string) error {
	target, err := fs.ReadLink(c.tree, name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || outside(path.Join(path.Dir(name), target)) {
		c.report(name, "", "is a symbolic link to %q, outside of the repository", short(target))
	}
	return c.enough()
}

// folder checks the kustomization files of a folder. kustomize rejects a folder with two of them, but only after Flux
// has read the first.
func (c *checker) folder(name string) error {
	for _, file := range konfig.RecognizedKustomizationFileNames() {
		file = path.Join(name, file)
		if !c.isFile(file) {
			continue
		}
		content, err := c.read(file)
		if err != nil {
			return err
		}
		if content == nil {
			continue
		}
		c.inline[file] = c.texts(file, content)
		for _, k := range decode(content) {
			for _, each := range places(k) {
				if err := c.place(file, each); err != nil {
					return err
				}
			}
		}
		if err := c.enough(); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) enough() error {
	if len(c.problems) >= most {
		return errEnough
	}
	return nil
}

func (c *checker) isFile(name string) bool {
	info, err := fs.Lstat(c.tree, name)
	return err == nil && info.Mode().IsRegular()
}

func (c *checker) isFolder(name string) bool {
	info, err := fs.Lstat(c.tree, name)
	return err == nil && info.IsDir()
}

// read reads a file. It reports a problem and returns no content for three kinds of files: files that are too large,
// files whose aliases expand to too many values, and patches with a copy operation.
func (c *checker) read(name string) ([]byte, error) {
	info, err := fs.Lstat(c.tree, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > c.limits.File {
		c.report(name, "", "has %d bytes; a build reads files of at most %d", info.Size(), c.limits.File)
		return nil, nil
	}
	content, err := fs.ReadFile(c.tree, name)
	if err != nil {
		return nil, err
	}
	documents, err := parse(content, c.limits.Nodes)
	switch {
	case errors.Is(err, errExpands):
		c.report(name, "", tooManyValues, c.limits.Nodes)
		return nil, nil
	case slices.ContainsFunc(documents, copies):
		c.report(name, "", copying)
		return nil, nil
	}
	return content, nil
}

// outside reports whether a cleaned path leads out of the repository.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

// short cuts a team's value to a length that fits into a message.
func short(value string) string {
	if len(value) > 120 {
		value = value[:120] + "..."
	}
	return value
}
