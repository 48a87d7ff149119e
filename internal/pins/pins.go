// Package pins reads and writes strata.yaml, which names the version of Strata that an organisation's repository uses.
package pins

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"
)

const (
	// File is the name of the file. A folder that contains it is an organisation's repository.
	File = "strata.yaml"
	// APIVersion is the version of the file's format that this package reads.
	APIVersion = "strata/v1"
	// Kind is the kind of the file.
	Kind = "Repository"
)

// Pins is the content of strata.yaml.
type Pins struct {
	// APIVersion must be APIVersion.
	APIVersion string `json:"apiVersion"`
	// Kind must be Kind.
	Kind string `json:"kind"`
	// Strata is the version of Strata, such as v0.1.0: of the command, and of the module in go.mod. Required.
	Strata string `json:"strata"`
	// Sync pins layer 3. Required.
	Sync Sync `json:"sync"`
	// Versions are the versions of the programs that Strata runs, by name, as strata init and strata upgrade record them. They
	// select nothing: strata upgrade --check only shows the differences.
	Versions map[string]string `json:"versions,omitempty"`
}

// Sync pins layer 3 in a Git repository.
type Sync struct {
	// URL is the https address of the repository, which Flux reads without a login. Target local does not use it: it serves the
	// commit itself. Required.
	URL string `json:"url"`
	// Commit is the full hash of the commit. It depends only on the files, so it verifies them. Required.
	Commit string `json:"commit"`
}

// Branch returns the branch of Sync.URL that contains the commit.
func (p Pins) Branch() string { return "sync/" + p.Strata }

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Load reads and checks the file at path.
func Load(path string) (Pins, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Pins{}, fmt.Errorf("read the pins: %w", err)
	}
	p, err := Decode(content)
	if err != nil {
		return Pins{}, fmt.Errorf("read the pins in %s: %w", path, err)
	}
	return p, nil
}

// Decode decodes and checks the content of a strata.yaml. It refuses unknown fields. One error lists all problems.
func Decode(content []byte) (Pins, error) {
	var p Pins
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return p, fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(p.APIVersion != APIVersion || p.Kind != Kind, "apiVersion and kind are %q and %q, not %s and %s", p.APIVersion, p.Kind, APIVersion, Kind)
	refuse(semver.Canonical(p.Strata) != p.Strata || p.Strata == "", "strata is %q, not a version such as v0.1.0", p.Strata)
	refuse(!fullCommit.MatchString(p.Sync.Commit), "sync.commit is %q, not the full hash of a commit", p.Sync.Commit)
	address, err := url.Parse(p.Sync.URL)
	refuse(err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil, "sync.url must be an https:// URL without a login")
	if len(problems) > 0 {
		return p, fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return p, nil
}

// header begins the file.
const header = `# The version of Strata that this repository uses. strata upgrade writes this file, and strata upgrade --check compares it
# with the strata that you call. sync.commit is the hash of layer 3's files: the policies and the operator.
`

// Encode returns the content of the file.
func (p Pins) Encode() ([]byte, error) {
	p.APIVersion, p.Kind = APIVersion, Kind
	content, err := yaml.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append(bytes.NewBufferString(header).Bytes(), content...), nil
}
