package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/strata-platform/strata/internal/check/source"
	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/platform"
)

const (
	// maxFiles and maxBytes bound the files of a repository that the check looks at. The limits of one build are lower.
	maxFiles = 20_000
	maxBytes = 256 << 20
)

// hidden is a repository without the folder in which git keeps its own files.
type hidden struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (h hidden) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(h.FS, name)
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == ".git" }), err
}

// Lstat implements fs.ReadLinkFS.
func (h hidden) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(h.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (h hidden) ReadLink(name string) (string, error) { return fs.ReadLink(h.FS, name) }

// ReadFile implements fs.ReadFileFS. A folder on the way may be a link: a build has no links, so the file does not exist.
func (h hidden) ReadFile(name string) ([]byte, error) {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if info, err := fs.Lstat(h.FS, folder); err != nil || !info.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	if info, err := fs.Lstat(h.FS, name); err != nil || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return fs.ReadFile(h.FS, name)
}

// size returns a problem if the repository is too large to look at.
func (r *run) size() (*lint.Problem, error) {
	files, bytes := 0, int64(0)
	enough := errors.New("enough")
	var found *lint.Problem
	err := fs.WalkDir(r.tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files, bytes = files+1, bytes+info.Size()
		switch {
		case files > maxFiles:
			found = &lint.Problem{File: ".", Reason: fmt.Sprintf("has more than %d files", maxFiles)}
		case bytes > maxBytes:
			found = &lint.Problem{File: name, Reason: fmt.Sprintf("makes the repository larger than %d MB", maxBytes>>20)}
		default:
			return nil
		}
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return found, err
}

// yamlFiles returns the files of a build with objects or settings of kustomize.
func yamlFiles(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) && !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
	})
}

var (
	// invalid matches the message about a file that is not valid YAML.
	invalid = regexp.MustCompile(`^(\S+) is not valid YAML: .*\(line (\d+)\)$`)
	// missing matches the message about a file that a kustomization lists.
	missing = regexp.MustCompile(`^kustomization\.yaml lists (.+), which does not exist$`)
	// faulty matches the message about a kustomization file that is not valid YAML, without the file's name.
	faulty = regexp.MustCompile(`yaml: line (\d+): `)
	// aFile matches the path of a file in a message.
	aFile = regexp.MustCompile(`[\w./-]+\.(?:yaml|yml|json)`)
)

// failure reports the error of a build.
func (r *run) failure(account platform.AccountLimits, text string) {
	text = oneLine(message.Build(text))
	if match := invalid.FindStringSubmatch(text); match != nil {
		line, _ := strconv.Atoi(match[2])
		r.add(source.Place{File: match[1], Line: line, Column: 1}, RuleBuild, "", text, "correct it and push")
		return
	}
	files := source.Read(r.tree, nil)
	at := source.Place{File: kustomization(r, account), Line: 1, Column: 1}
	if match := missing.FindStringSubmatch(text); match != nil {
		at = files.Entry(at.File, match[1])
	} else {
		names := slices.DeleteFunc(aFile.FindAllString(text, -1), func(name string) bool { return !isFile(r.tree, path.Clean(name)) })
		if match := faulty.FindStringSubmatch(text); len(names) > 0 {
			at.File = path.Clean(names[0])
		} else if match != nil && isFile(r.tree, at.File) {
			at.Line, _ = strconv.Atoi(match[1])
		}
	}
	r.add(at, RuleBuild, "", "Flux cannot build it: "+text, "correct it and push")
}

func isFile(tree fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	info, err := fs.Lstat(tree, name)
	return err == nil && info.Mode().IsRegular()
}

// oneLine returns a text without line ends.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
