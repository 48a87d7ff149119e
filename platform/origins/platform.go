package origins

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// Platform is the place that Flux fetches layer 3 from: a Git repository, or signed artifacts in a registry. The fields are those of
// platform.Config with the prefix Platform.
type Platform struct {
	// URL is the address of the Git repository, or with the scheme oci:// that of the repository of the artifacts.
	URL string
	// Branch is the branch of the Git repository. Artifacts have none.
	Branch string
	// Versions is the range of versions of the artifacts; empty means teams.DefaultVersions.
	Versions string
	// Publishers sign the commits or the artifacts. Commits need none.
	Publishers Publishers
	// Insecure uses HTTP for the registry.
	Insecure bool
	// Username and Password read the repository; both are empty for a public one.
	Username string
	Password handoff.Secret
}

// Artifacts reports whether Flux fetches artifacts from a registry.
func (p Platform) Artifacts() bool { return strings.HasPrefix(p.URL, ociScheme) }

// Problems returns the problems of the settings, except those of the address of a Git repository.
func (p Platform) Problems() []string {
	if !p.Artifacts() {
		problems := p.Publishers.problems("platformPublishers", "neither a public key of OpenPGP, as `gpg --armor --export` prints it, nor one of SSH", ".asc", ".sshpub")
		if p.Versions != "" {
			problems = append(problems, "platformVersions is for artifacts: Flux applies the branch platformBranch of the Git repository in platformUrl")
		}
		return problems
	}
	problems := p.Publishers.problems("platformPublishers", "not a public key in PEM, as `openssl pkey -pubout` prints it", ".pub")
	if !isRepository(p.URL) {
		problems = append(problems, "platformUrl is not the address of a repository without a tag and a login, such as oci://registry.example.com/platform/sync")
	}
	if len(p.Publishers) == 0 {
		problems = append(problems, "platformPublishers must contain the public key that signs the artifacts of platformUrl: without one, Flux would apply what anybody has pushed")
	}
	if _, err := semver.NewConstraint(p.versions()); err != nil {
		problems = append(problems, fmt.Sprintf("platformVersions %q is not a range of versions, such as 1.x or >=1.4.0", p.Versions))
	}
	return problems
}

// versions returns the range of versions of the artifacts.
func (p Platform) versions() string {
	if p.Versions == "" {
		return teams.DefaultVersions
	}
	return p.Versions
}

// Origin returns the origin of a source. The Secret contains the publishers, and is nil without any. Of a Git repository, Flux
// fetches only the folders; an artifact contains nothing else.
func (p Platform) Origin(folders []string, publishers pulumi.StringInput) fluxcd.Origin {
	var username, password pulumi.StringInput
	if p.Username != "" {
		username, password = pulumi.String(p.Username), p.Password.Input()
	}
	if p.Artifacts() {
		return fluxcd.OCI{
			URL: pulumi.String(p.URL), SemVer: pulumi.String(p.versions()), Username: username, Password: password, Insecure: p.Insecure,
			Verify: &fluxcd.OCIVerification{SecretName: publishers},
		}
	}
	git := fluxcd.Git{
		URL: pulumi.String(p.URL), Branch: pulumi.String(p.Branch), Username: username, Password: password, SparseCheckout: folders,
	}
	if publishers != nil {
		git.Verify = &fluxcd.GitVerification{SecretName: publishers}
	}
	return git
}

// Fill makes a hop apply a folder of the platform: source has the path and the folders already.
func (p Platform) Fill(source *hop.Source) {
	source.URL = pulumi.String(p.URL)
	if p.Username != "" {
		source.Username, source.Password = pulumi.String(p.Username), p.Password.Input()
	}
	if !p.Artifacts() {
		source.Branch = pulumi.String(p.Branch)
		if len(p.Publishers) > 0 {
			source.Verify = &hop.Verification{Mode: fluxcd.VerifyCommit, Keys: publicKeys(p.Publishers)}
		}
		return
	}
	source.Versions = pulumi.String(p.versions())
	source.Artifact = &hop.Artifact{
		URL: source.URL, Versions: source.Versions, Keys: publicKeys(p.Publishers),
		Username: source.Username, Password: source.Password, Insecure: p.Insecure,
	}
}

// Publishers are the public keys that sign the platform: of OpenPGP or SSH for the commits of a Git repository, in PEM for
// artifacts.
type Publishers []string

// problems returns the problems of a setting with the given name, whose keys must have one of the suffixes.
func (p Publishers) problems(setting, wrong string, suffixes ...string) []string {
	var problems []string
	for i, key := range p {
		if !slices.Contains(suffixes, teams.KeySuffix(key)) {
			problems = append(problems, fmt.Sprintf("%s[%d] is %s", setting, i, wrong))
		}
	}
	return problems
}

// Secret returns the data of a Secret with the keys. Flux would keep trusting a key that has been removed from stringData.
func (p Publishers) Secret() pulumi.StringMap {
	data := pulumi.StringMap{}
	for name, key := range publicKeys(p) {
		data[name] = pulumi.String(base64.StdEncoding.EncodeToString([]byte(key)))
	}
	return data
}
