// Package lint finds in a repository what a build by Flux must not load, and builds that would take too long.
//
// kustomize-controller builds what a team commits with kustomize, which takes addresses wherever it takes paths, and reads
// some of them in spite of --no-remote-bases. One build runs at a time for all teams. So a repository is checked before
// Flux sees it: a build reads the files of its repository and nothing else, and not more of them than Limits.
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

// Limits bound one build, counting each file and object as often as the build loads it.
type Limits struct {
	// Files is how many files a build loads.
	Files int
	// Bytes is how much it reads.
	Bytes int64
	// Objects is how many objects its manifests hold. The time of a build grows with the square of it: with kustomize v0.21
	// 500 take 0.6 s, 1000 take 4 s and 2000 take 16 s.
	Objects int
	// Changes is how many changes the kustomization files make, as patches, images and labels are, times the objects, for each
	// looks at all of them. 10,000 take seconds.
	Changes int
	// File is the size in bytes of one file. A ConfigMap holds no more than 1 MiB, and a parser takes a hundred times the size
	// of what it reads.
	File int64
	// Nodes is how many values a build loads, with aliases expanded. kustomize takes some 4 KB for each.
	Nodes int
}

// DefaultLimits are far above what an application needs, and keep a build to seconds: Flux's own manifests are 40 objects
// in 0.5 MB.
func DefaultLimits() Limits {
	return Limits{Files: 1000, Bytes: 16 << 20, Objects: 500, Changes: 20_000, File: 1 << 20, Nodes: 200_000}
}

// Problem is a reason to refuse a repository.
type Problem struct {
	// File is the path of the file in the repository.
	File string
	// Field says where in the file, for example resources[0]. It is empty where the file as a whole is the problem.
	Field string
	// Reason is a clause that says what is wrong.
	Reason string
}

func (p Problem) String() string {
	if p.Field == "" {
		return p.File + " " + p.Reason
	}
	return p.File + ": " + p.Field + " " + p.Reason
}

// most is how many problems are reported: nobody reads more at a time.
const most = 20

// Check returns the problems of a repository's files, sorted by file. Symbolic links are not followed, for Flux leaves them
// out of what it builds. The error is that of a file system that cannot be read.
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
	// Both ways to decode a file find what only one of them would.
	return slices.Compact(c.problems), err
}

// errEnough ends the walk when there are enough problems.
var errEnough = errors.New("enough problems")

type checker struct {
	tree     fs.FS
	limits   Limits
	problems []Problem
	// sizes are those of the builds of folders, files those of files, by their path.
	sizes, files map[string]size
	// inline is how many values the patches and plugins within a kustomization file or the configuration of a plugin hold, by
	// its path.
	inline map[string]int
}

func newChecker(tree fs.FS, limits Limits) *checker {
	return &checker{tree: tree, limits: limits, sizes: map[string]size{}, files: map[string]size{}, inline: map[string]int{}}
}

func (c *checker) report(file, field, format string, args ...any) {
	c.problems = append(c.problems, Problem{File: file, Field: field, Reason: fmt.Sprintf(format, args...)})
}

// link refuses a link out of the repository.
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

// folder checks the kustomization files of a folder. kustomize refuses a folder with two, but not before Flux has read the
// first.
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

// read reads a file. One that is too large, or whose aliases would expand to too many values, or that is a patch that
// copies, is a problem and has no content.
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

// outside says whether a cleaned path leads out of the repository.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

// short is a value of a team as it can stand in one line of a message.
func short(value string) string {
	if len(value) > 120 {
		value = value[:120] + "..."
	}
	return value
}
