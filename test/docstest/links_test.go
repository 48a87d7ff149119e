package docstest_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/docstest"
)

// link matches an inline link or image of Markdown.
var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// pages returns the paths of the repository's documents.
func pages(t *testing.T) []string {
	t.Helper()
	return files(t, ".md", "bin")
}

// files returns the paths of the repository's files with an extension, without hidden folders and folders with the
// excepted name.
func files(t *testing.T, extension, except string) []string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == except) {
			return fs.SkipDir
		}
		if path.Ext(name) == extension {
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// prose returns the lines of a document without code.
func prose(t *testing.T, page string) []string {
	t.Helper()
	var lines []string
	code := false
	for line := range strings.Lines(docstest.Read(t, page)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

// anchors returns the anchors of a document's headings, in GitHub's form.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var found []string
	for _, line := range prose(t, page) {
		level, heading, ok := strings.Cut(line, " ")
		if !ok || level == "" || strings.Trim(level, "#") != "" {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, heading)
		for n, name := 1, anchor; ; n++ {
			if !slices.Contains(found, anchor) {
				break
			}
			anchor = fmt.Sprintf("%s-%d", name, n)
		}
		found = append(found, anchor)
	}
	return found
}

// targets returns the resolved links of a document to files in the repository.
func targets(t *testing.T, page string) (all []*url.URL) {
	t.Helper()
	for _, line := range prose(t, page) {
		for _, match := range link.FindAllStringSubmatch(line, -1) {
			target, err := url.Parse(match[1])
			if err != nil {
				t.Errorf("%s: link %s: %v", page, match[1], err)
				continue
			}
			if target.Scheme != "" {
				continue // Tests make no requests to the network.
			}
			if target.Path == "" {
				target.Path = page
			} else {
				target.Path = path.Join(path.Dir(page), target.Path)
			}
			all = append(all, target)
		}
	}
	return all
}

func TestEveryLinkLeadsToAnExistingFileAndHeading(t *testing.T) {
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		for _, target := range targets(t, page) {
			if _, err := fs.Stat(os.DirFS(root), target.Path); err != nil {
				t.Errorf("%s links to %s: %v", page, target.Path, err)
			} else if target.Fragment != "" && !slices.Contains(anchors(t, target.Path), target.Fragment) {
				t.Errorf("%s links to %s, which has no heading #%s but %q", page, target.Path, target.Fragment, anchors(t, target.Path))
			}
		}
	}
}

func TestEveryPageIsReachedFromTheReadMe(t *testing.T) {
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	reached := map[string]bool{}
	queue := []string{"README.md"}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if reached[name] {
			continue
		}
		reached[name] = true
		if info, err := fs.Stat(os.DirFS(root), name); err == nil && info.IsDir() {
			// A link to a folder covers its content.
			below, err := fs.Glob(os.DirFS(root), name+"/*")
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, below...)
		} else if path.Ext(name) == ".md" {
			for _, target := range targets(t, name) {
				queue = append(queue, target.Path)
			}
		}
	}
	for _, page := range pages(t) {
		if !reached[page] {
			t.Errorf("no chain of links leads from README.md to %s", page)
		}
	}
}
