// Package teams reads teams.yaml, the list of the teams of a platform.
//
// Layers 1 and 2 read the same file: layer 1 creates an identity for each team, layer 2 its hop into the cluster.
package teams

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const (
	// APIVersion is the version of the file's format that this package reads.
	APIVersion = "strata/v1"
	// Kind is the kind of the file.
	Kind = "Teams"

	// DefaultBranch is the branch of a team's repository when the file names none.
	DefaultBranch = "main"
	// DefaultPath is the folder of a team's repository when the file names none.
	DefaultPath = "./"

	// maxName leaves room for the prefix "team-" within the 30 characters of a Google account ID.
	maxName = 25
)

// namePattern matches names that are valid for a Kubernetes namespace, a Kubernetes account and a Google account ID.
var namePattern = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

// branchPattern matches the subset of Git's branch names that teams use in practice.
var branchPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)

// reservedAccount is the Kubernetes account that every namespace has, and planAccount the one that each team's namespace has in addition.
const reservedAccount, planAccount = "default", "strata-plan"

// reserved maps the names that teams must not have to the reason: something else already uses an account, a repository or
// a database of that name.
var reserved = map[string]string{
	reservedAccount: "every pod that names no account runs under the account of that name",
	planAccount:     "the plans of unreviewed commits run as the account of that name",
	"engineer":      "the platform engineer has the Git account of that name",
	"fleet":         "Flux applies the repository of that name as the cluster's administrator",
	"platform":      "the repository of that name contains the platform",
	"strata":        "the repository of that name contains Strata's part of the platform",
	// A team's databases and database users have its name, or its name, an underscore and a suffix.
	"root":        "the administrator of a database instance has that name",
	"mysql":       "each database instance keeps its users in a database of that name",
	"sys":         "each database instance has a database of that name",
	"information": "each database instance has a database information_schema",
	"performance": "each database instance has a database performance_schema",
}

// reservedPrefix begins the names of the users that Cloud SQL creates for itself.
const reservedPrefix = "cloudsql"

// readerSuffix ends the name of a Git account that may only read a repository.
const readerSuffix = "-reader"

// Team is one team of the platform.
type Team struct {
	// Name is the team's short name; its namespace and its Google account are team-<name>. Required, at most 25
	// lower-case letters, digits and hyphens, unique in the file.
	Name string `json:"name"`
	// Branch is the branch of the team's repository that Flux applies; empty means DefaultBranch, or none with Versions.
	Branch string `json:"branch,omitempty"`
	// Source is the kind of the team's source: SourceGit, SourceOCI or SourceBucket; empty means SourceGit.
	Source string `json:"source,omitempty"`
	// Bucket is the team's bucket. SourceBucket requires it, and the others exclude it.
	Bucket *Bucket `json:"bucket,omitempty"`
	// Versions is the range of versions that Flux applies the highest of: of the team's artifacts, or of the tags of its Git
	// repository. It excludes Branch. Empty means DefaultVersions for artifacts, and Branch for a Git repository.
	Versions string `json:"versions,omitempty"`
	// Verify demands signatures of the team's commits or tags: VerifyHead, or with Versions VerifyTag or VerifyTagAndHead;
	// empty means none. It needs SourceGit and Publishers.
	Verify string `json:"verify,omitempty"`
	// Publishers are the public keys whose signatures Flux accepts. With SourceOCI they are keys in PEM, in addition to those in
	// the configuration of layer 2. With SourceGit they are keys of OpenPGP or SSH, and need Verify.
	Publishers []string `json:"publishers,omitempty"`
	// Identity is the identity whose signatures Flux accepts with SourceOCI, in place of keys. It excludes Publishers.
	Identity *Identity `json:"identity,omitempty"`
	// RecurseSubmodules makes Flux fetch the submodules of the team's Git repository, too. It excludes Versions.
	RecurseSubmodules bool `json:"recurseSubmodules,omitempty"`
	// Path is the folder of the team's repository, or of its artifact, that Flux applies; empty means DefaultPath.
	Path string `json:"path,omitempty"`
	// Allow lists the types of resources that the team's Programs may declare, such as gcp:sql/user:User, gcp:sql/* or
	// random:*; empty means DefaultAllow.
	Allow []string `json:"allow,omitempty"`
	// Quota limits the resources of the team's namespace.
	Quota Quota `json:"quota,omitzero"`
	// RunTimeout limits a run of the team's Stacks, as a Go duration from 1m to 1h; empty means DefaultRunTimeout. The
	// embedded operator stops a longer run gracefully.
	RunTimeout string `json:"runTimeout,omitempty"`
	// Approval says which changes of the team's Stacks wait for an approval, and who may give it.
	Approval Approval `json:"approval,omitzero"`
	// Notify puts the results of the team's plans on the commits; nil means that they are in the cluster only.
	Notify *Notify `json:"notify,omitempty"`
	// Sources are the URLs of repositories that the team's sources and Stacks may use in addition to the team's own.
	Sources []string `json:"sources,omitempty"`
	// May lists the permissions of the team's account; empty means DefaultMay.
	May []string `json:"may,omitempty"`
	// Accounts are additional accounts in the team's namespace.
	Accounts []Account `json:"accounts,omitempty"`

	// Offer is the name of the catalogue's entry whose orders run as this team; empty for a team of the file. See Offer.Team.
	Offer string `json:"-"`
}

// Namespace returns the team's Kubernetes namespace.
func (t Team) Namespace() string { return "team-" + t.Name }

// ServiceAccount returns the Kubernetes account in the team's namespace that Flux applies the team's commits under and
// that its Stacks run as.
func (t Team) ServiceAccount() string { return t.Name }

// GoogleAccountID returns the ID, the part before the @, of the team's Google service account.
func (t Team) GoogleAccountID() string { return "team-" + t.Name }

// File is the content of teams.yaml.
type File struct {
	// APIVersion must be APIVersion.
	APIVersion string `json:"apiVersion"`
	// Kind must be Kind.
	Kind string `json:"kind"`
	// Teams lists the teams in the order of the file; an empty list is a platform without tenants.
	Teams []Team `json:"teams"`
	// Catalogue lists what the teams can order; an empty list is a platform without a catalogue.
	Catalogue []Offer `json:"catalogue,omitempty"`
}

// Load reads and checks the file at path.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the list of teams: %w", err)
	}
	file, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("read the list of teams %s: %w", path, err)
	}
	return file, nil
}

// Decode decodes and checks the content of a teams.yaml and fills in defaults. It refuses unknown and duplicate fields.
// One error lists every problem of the file.
func Decode(data []byte) (*File, error) {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, oneLine(err)
	}
	if bytes.Equal(bytes.TrimSpace(asJSON), []byte("null")) {
		return nil, fmt.Errorf("the file is empty: it needs apiVersion: %s, kind: %s and teams", APIVersion, Kind)
	}
	var file File
	strict, err := json.UnmarshalStrict(asJSON, &file)
	if err != nil {
		return nil, oneLine(err)
	}
	problems := slices.Concat(strict, file.problems())
	if len(problems) > 0 {
		return nil, joined(problems)
	}
	for i := range file.Teams {
		file.Teams[i].setDefaults()
	}
	for i := range file.Catalogue {
		if file.Catalogue[i].PerTeam == 0 {
			file.Catalogue[i].PerTeam = DefaultPerTeam
		}
	}
	return &file, nil
}

func (t *Team) setDefaults() {
	if t.Branch == "" && !t.Tags() {
		t.Branch = DefaultBranch
	}
	if t.Versions == "" && t.Artifacts() {
		t.Versions = DefaultVersions
	}
	if t.Bucket != nil {
		t.Bucket.setDefaults()
	}
	if t.Path == "" {
		t.Path = DefaultPath
	}
	if len(t.Allow) == 0 {
		t.Allow = DefaultAllow()
	}
	if t.RunTimeout == "" {
		t.RunTimeout = DefaultRunTimeout
	}
	if len(t.May) == 0 {
		t.May = DefaultMay()
	}
}

func (f *File) problems() []error {
	var problems []error
	if f.APIVersion != APIVersion {
		problems = append(problems, fmt.Errorf("apiVersion is %q: this version of strata reads %q", f.APIVersion, APIVersion))
	}
	if f.Kind != Kind {
		problems = append(problems, fmt.Errorf("kind is %q: it must be %q", f.Kind, Kind))
	}
	first, buckets := map[string]int{}, map[string]int{}
	for i, team := range f.Teams {
		at := fmt.Sprintf("teams[%d]", i)
		problems = append(problems, team.problems(at)...)
		if team.Bucket != nil {
			if earlier, found := buckets[team.Bucket.Name]; found {
				problems = append(problems, fmt.Errorf("%s.bucket.name %q is taken by teams[%d]: each team could read what the other deploys", at, team.Bucket.Name, earlier))
			}
			buckets[team.Bucket.Name] = i
		}
		if team.Name == "" {
			continue
		}
		if earlier, found := first[team.Name]; found {
			problems = append(problems, fmt.Errorf("%s.name %q is taken by teams[%d]", at, team.Name, earlier))
			continue
		}
		first[team.Name] = i
	}
	return append(problems, f.offerProblems()...)
}
