// Package prebuilt writes and reads bundles: archives of built tools, which a machine without Go can use.
//
// A bundle is a tar archive, compressed by zstd. Its first entry is manifest.json, which lists every file with its digest.
// The digest of the manifest therefore covers the whole bundle, and it is the only value that a reader has to trust. The
// other entries are the files' contents, each once, named blobs/DIGEST, in the order of the manifest.
package prebuilt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const (
	// format is the value of Manifest.Format.
	format = "strata-bundle-1"

	// Extension ends the name of every bundle.
	Extension = ".tar.zst"

	manifestName = "manifest.json"
	blobs        = "blobs/"

	// mostManifest is the largest manifest, in bytes. A manifest takes about 200 bytes for each file.
	mostManifest = 1 << 20
	// mostContents is the largest sum of the sizes in a manifest, in bytes. All tools of a platform take about 850 MB.
	mostContents = 8 << 30
)

// A Manifest describes a bundle. Two bundles with equal tools have equal manifests.
type Manifest struct {
	Format string `json:"format"`
	// Platform is GOOS/GOARCH of the tools.
	Platform string  `json:"platform"`
	Groups   []Group `json:"groups"`
}

// A Group contains the tools that share a folder of the cache.
type Group struct {
	Name string `json:"name"`
	// Folder is the name of the cache folder. It is derived from every pin of the tools, so that tools of other pins have
	// another folder.
	Folder string `json:"folder"`
	Tools  []Tool `json:"tools"`
	Files  []File `json:"files"`
}

// A Tool is a program, or a folder of files.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// A File is a regular file of a group.
type File struct {
	// Path is the path below the group's folder, with slashes: the name of a tool, or a path below it.
	Path       string `json:"path"`
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"` // in bytes
	Executable bool   `json:"executable,omitempty"`
}

// ThisPlatform returns the platform of this machine, in the form of Manifest.Platform.
func ThisPlatform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// FileName returns the name of the bundle of a version of Strata for a platform.
func FileName(version, platform string) string {
	return "strata-tools_" + version + "_" + strings.ReplaceAll(platform, "/", "_") + Extension
}

// New returns the manifest of groups for this platform.
func New(groups []Group) Manifest {
	return Manifest{Format: format, Platform: ThisPlatform(), Groups: groups}
}

// Describe returns the files of the tools in a folder, in the order of their paths.
func Describe(dir string, tools []Tool) ([]File, error) {
	var files []File
	for _, tool := range tools {
		err := filepath.WalkDir(filepath.Join(dir, tool.Name), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if !entry.Type().IsRegular() {
				return fmt.Errorf("%s is not a regular file", name)
			}
			file, err := describe(dir, name)
			files = append(files, file)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the tool %s: %w", tool.Name, err)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func describe(dir, name string) (File, error) {
	relative, err := filepath.Rel(dir, name)
	if err != nil {
		return File{}, err
	}
	opened, err := os.Open(name)
	if err != nil {
		return File{}, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return File{}, err
	}
	hash := sha256.New()
	size, err := io.Copy(hash, opened)
	return File{Path: filepath.ToSlash(relative), SHA256: hex.EncodeToString(hash.Sum(nil)), Size: size, Executable: info.Mode()&0o111 != 0}, err
}

// Encode returns the manifest as it is stored in a bundle, and its digest: SHA-256 in hexadecimal.
func (m Manifest) Encode() (content []byte, digest string, err error) {
	content, err = json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, "", err
	}
	content = append(content, '\n')
	return content, digestOf(content), nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// decode returns the manifest with a digest. It checks the digest before it looks at the content.
func decode(content []byte, digest string) (Manifest, error) {
	if found := digestOf(content); found != digest {
		return Manifest{}, fmt.Errorf("its manifest has the SHA-256 digest %s, not %s: it is the bundle of another release, or somebody changed it", found, digest)
	}
	var m Manifest
	decoder := json.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("read its manifest: %w", err)
	}
	if m.Format != format {
		return Manifest{}, fmt.Errorf("its format is %q, but this strata reads %s: use the strata of the same release", m.Format, format)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("its manifest is wrong: %w", err)
	}
	return m, nil
}

var (
	folderName = regexp.MustCompile(`^[a-z-]+-[0-9a-f]{16}$`)
	digestText = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check returns an error unless every file has a place of its own inside the folder of its group. A user may pass the digest of
// somebody else's bundle, so even a manifest with the right digest must not name a file outside the cache.
func (m Manifest) check() error {
	var sum int64
	folders := map[string]bool{}
	for _, g := range m.Groups {
		if !folderName.MatchString(g.Folder) || folders[g.Folder] {
			return fmt.Errorf("%q is not the name of a folder, or the manifest contains it twice", g.Folder)
		}
		folders[g.Folder] = true
		paths := map[string]bool{}
		for _, f := range g.Files {
			tool, _, _ := strings.Cut(f.Path, "/")
			isTool := slices.ContainsFunc(g.Tools, func(t Tool) bool { return t.Name == tool })
			if !isTool || !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || strings.Contains(f.Path, `\`) || paths[f.Path] {
				return fmt.Errorf("%q of %s is not the path of a tool, or the manifest contains it twice", f.Path, g.Folder)
			}
			paths[f.Path] = true
			if !digestText.MatchString(f.SHA256) || f.Size < 0 || f.Size > mostContents {
				return fmt.Errorf("%s of %s has no valid digest or size", f.Path, g.Folder)
			}
			if sum += f.Size; sum > mostContents {
				return errors.New("the files are too large")
			}
		}
	}
	return nil
}

// blob is the content of one or more files.
type blob struct {
	digest string
	size   int64
}

// blobs returns the contents in the order of the archive: that of their first files.
func (m Manifest) blobs() []blob {
	var list []blob
	for _, g := range m.Groups {
		for _, f := range g.Files {
			if !slices.ContainsFunc(list, func(b blob) bool { return b.digest == f.SHA256 }) {
				list = append(list, blob{f.SHA256, f.Size})
			}
		}
	}
	return list
}
