package debian

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/archive"
)

// recipeFile is the name of the description in the folder of a recipe. A lock has the name of its architecture and lockSuffix.
const (
	recipeFile = "recipe.yaml"
	lockSuffix = ".lock"
)

// Recipe describes an image. It is the file recipe.yaml of a folder, in which the locks and the recipe's own files are, too.
// The steps take place in the order of the fields.
type Recipe struct {
	// Reference is the name that the image gets in bundles. Optional.
	Reference string `json:"reference,omitempty"`
	// Suite is the code name of a release of Debian, such as trixie.
	Suite string `json:"suite"`
	// Packages are installed with their dependencies. No script of a package runs, and no package is installed because Debian
	// calls it essential.
	Packages []string `json:"packages"`
	// Without lists packages that others depend on and that the image does not need.
	Without []string `json:"without,omitempty"`
	// Copy lists copies in the image. The targets of symbolic links take the places of the links.
	Copy []Copy `json:"copy,omitempty"`
	// Remove lists patterns of path.Match. Each must match.
	Remove []string `json:"remove,omitempty"`
	// Folders are created, or get an owner and a mode.
	Folders []Folder `json:"folders,omitempty"`
	// Files are created, or replaced.
	Files []File `json:"files,omitempty"`
	// Links maps the paths of symbolic links to their targets.
	Links map[string]string `json:"links,omitempty"`
	// Config is the configuration of containers.
	Config Config `json:"config"`

	folder fs.FS
	digest string
}

// Copy is a copy of a file or folder of the image.
type Copy struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Folder is a folder of the image.
type Folder struct {
	Path string `json:"path"`
	// Mode has the permissions in octal, "0755" by default. User and Group are numbers.
	Mode  string `json:"mode,omitempty"`
	User  int    `json:"user,omitempty"`
	Group int    `json:"group,omitempty"`
}

// File is a file of the image.
type File struct {
	Path string `json:"path"`
	// Source is the path of the content in the recipe's folder.
	Source string `json:"source"`
	// Mode has the permissions in octal, "0644" by default. User and Group are numbers.
	Mode  string `json:"mode,omitempty"`
	User  int    `json:"user,omitempty"`
	Group int    `json:"group,omitempty"`
}

// Config is the configuration of containers. Its fields have the meaning of those of an OCI image.
type Config struct {
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	WorkingDir string            `json:"workingDir,omitempty"`
	User       string            `json:"user,omitempty"`
	Ports      []int             `json:"ports,omitempty"` // TCP
	Volumes    []string          `json:"volumes,omitempty"`
	StopSignal string            `json:"stopSignal,omitempty"`
}

// Load reads the recipe in a folder. It reports all problems at once.
func Load(folder fs.FS) (*Recipe, error) {
	content, err := fs.ReadFile(folder, recipeFile)
	if err != nil {
		return nil, fmt.Errorf("read the recipe of an image: %w", err)
	}
	r := &Recipe{folder: folder}
	if err := yaml.UnmarshalStrict(content, r); err != nil {
		return nil, fmt.Errorf("read the recipe of an image: %w", err)
	}
	var problems []string
	if r.Suite == "" || len(r.Packages) == 0 {
		problems = append(problems, "suite and packages are required")
	}
	hash := sha256.New()
	hash.Write(content)
	for _, f := range r.Files {
		source, err := fs.ReadFile(folder, f.Source)
		if err != nil {
			problems = append(problems, fmt.Sprintf("file %s: %s", f.Path, err))
		}
		fmt.Fprintf(hash, "\n%s %d\n", f.Source, len(source))
		hash.Write(source)
		if _, err := mode(f.Mode, 0o644); err != nil {
			problems = append(problems, fmt.Sprintf("file %s: %s", f.Path, err))
		}
	}
	for _, f := range r.Folders {
		if _, err := mode(f.Mode, 0o755); err != nil {
			problems = append(problems, fmt.Sprintf("folder %s: %s", f.Path, err))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("recipe of an image: %s", strings.Join(problems, "; "))
	}
	r.digest = hex.EncodeToString(hash.Sum(nil))
	return r, nil
}

// mode parses permissions.
func mode(text string, standard fs.FileMode) (fs.FileMode, error) {
	if text == "" {
		return standard, nil
	}
	bits, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("%q is not a mode, such as \"0755\"", text)
	}
	return fs.FileMode(bits), nil
}

// lock returns the lock of the recipe for an architecture, if the folder has one that fits the recipe.
func (r *Recipe) lock(architecture string) (archive.Lock, error) {
	content, err := fs.ReadFile(r.folder, architecture+lockSuffix)
	if err != nil {
		return archive.Lock{}, fmt.Errorf("this recipe has no packages for %s: write the lock with `go run ./images/assemble -lock`: %w", architecture, err)
	}
	lock, err := archive.ParseLock(string(content))
	if err != nil {
		return archive.Lock{}, err
	}
	for _, name := range r.Packages {
		if !slices.ContainsFunc(lock.Packages, func(p archive.Package) bool { return p.Name == name }) {
			return archive.Lock{}, fmt.Errorf("the lock %s does not contain the recipe's package %s: write it again with `go run ./images/assemble -lock`", architecture+lockSuffix, name)
		}
	}
	return lock, nil
}
