package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// Bounds of a tree. They leave room for every set of manifests, and keep a wrong folder, such as a home folder, out of the
// registry.
const (
	mostFiles = 10_000
	mostBytes = 64 << 20
)

// file is a file of a tree.
type file struct {
	// name is the path relative to the tree, with slashes.
	name    string
	content []byte
}

// read returns the files of folders below dir that Flux would use, sorted by name: without .git, the files that .sourceignore lists,
// and those that Flux leaves out of each artifact. It returns an error for content that Flux would drop, and for credentials.
func read(dir string, folders []string) (*reader, error) {
	patterns, err := sourceignore.ReadIgnoreFile(filepath.Join(dir, sourceignore.IgnoreFile), nil)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		var domain []string
		if folder != "." {
			domain = strings.Split(folder, "/")
		}
		below, err := sourceignore.LoadIgnorePatterns(filepath.Join(dir, filepath.FromSlash(folder)), domain)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, below...)
	}
	r := &reader{folders: folders, ignored: sourceignore.NewDefaultMatcher(patterns, nil)}
	// An os.Root opens no file outside of the folder, even if the folder changes meanwhile.
	if r.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	defer r.root.Close()
	if !slices.Contains(folders, ".") {
		if err := r.rule(sourceignore.IgnoreFile); err != nil {
			return nil, err
		}
	}
	for _, folder := range folders {
		if err := fs.WalkDir(r.root.FS(), folder, r.visit); err != nil {
			return nil, err
		}
	}
	if len(r.files) == 0 {
		return nil, errors.New("it contains no files, or .sourceignore lists all")
	}
	slices.SortFunc(r.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return r, nil
}

// reader collects the files of a tree.
type reader struct {
	root    *os.Root
	folders []string
	ignored gitignore.Matcher
	// files are the files of the artifact, and rules the .sourceignore files that decide on them.
	files, rules []file
	size         int64
}

// rule keeps a .sourceignore that the artifact may leave out.
func (r *reader) rule(name string) error {
	content, err := r.root.ReadFile(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.rules = append(r.rules, file{name, content})
	return err
}

func (r *reader) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil || name == "." {
		return err
	}
	if path.Base(name) == sourceignore.IgnoreFile && !entry.IsDir() {
		if err := r.rule(name); err != nil {
			return err
		}
	}
	if r.ignored.Match(strings.Split(name, "/"), entry.IsDir()) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	const leaveOut = "list it in .sourceignore to leave it out"
	switch {
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }):
		return fmt.Errorf("the name %q contains a backslash or a control character: rename it", name)
	case entry.IsDir():
		return nil
	case entry.Type()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which Flux drops: replace it by the file, or %s", name, leaveOut)
	case !entry.Type().IsRegular():
		return fmt.Errorf("%s is not a regular file: %s", name, leaveOut)
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if r.size += info.Size(); r.size > mostBytes || len(r.files) == mostFiles {
		return fmt.Errorf("it has more than %d files or %d MiB: publish the folder with the manifests only, or list the others in .sourceignore",
			mostFiles, mostBytes>>20)
	}
	content, err := r.root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	if what := credential(name, content); what != "" {
		return fmt.Errorf("%s %s, and every reader of the artifact would get it: remove it, or %s", name, what, leaveOut)
	}
	r.files = append(r.files, file{name, content})
	return nil
}

// credentialNames are files in which programs keep credentials, by the name of the file or the end of its path.
var credentialNames = []string{
	".env", ".netrc", ".git-credentials", ".pgpass", ".npmrc", ".pypirc", "id_rsa", "id_ecdsa", "id_ed25519", "kubeconfig",
	".kube/config", ".docker/config.json", ".pulumi/credentials.json", "application_default_credentials.json",
}

// credentialContent matches private keys and the tokens of Git hosts, which begin with fixed letters.
var credentialContent = regexp.MustCompile(`-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----|\b(ghp|gho|ghs|github_pat|glpat)[_-][A-Za-z0-9_-]{20,}|"private_key_id"\s*:`)

// credential says which credential a file seems to contain, or returns "".
func credential(name string, content []byte) string {
	for _, each := range credentialNames {
		if path.Base(name) == each || strings.HasSuffix("/"+name, "/"+each) {
			return "is a file for credentials"
		}
	}
	if credentialContent.Match(content) || bytes.Contains(content, []byte("client-key-data:")) {
		return "contains a private key or a token"
	}
	return ""
}
