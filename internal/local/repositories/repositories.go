// Package repositories creates and fills the repositories of a home's platform.
package repositories

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// These are the names of the repositories that belong to no team.
const (
	Fleet    = "fleet"
	Platform = "platform"
	// Strata contains layer 3 of this program, for an organisation's repository.
	Strata = "strata"
)

// PlatformArtifacts is the repository of the platform's artifacts in the home's registry.
const PlatformArtifacts = platform.PlatformNamespace + "/sync"

// Repositories are the repositories on the Git server of a home.
type Repositories struct {
	Home home.Home
	// Root is the root folder of the clone of Strata, or of an organisation's repository. Its current commit becomes the
	// content of the platform repository.
	Root string
	// Layer3 is Strata's part of the platform, and Branch its branch, if Root is an organisation's repository. In a clone
	// it is nil: the platform repository contains everything.
	Layer3 *parts.Tree
	Branch string
	// Example is the first content of a team's repository.
	Example fs.FS
	// Kept returns the files that a team's new repository keeps for editors and the team's own checks, by their paths. Nil means
	// none.
	Kept func(ctx context.Context, team string) (map[string][]byte, error)
	// URL is the address of the Git server, without a login.
	URL string
	// Registry is the host and port of the home's registry.
	Registry string
	// Create creates an empty repository on the Git server. It does nothing if the repository exists.
	Create func(ctx context.Context, name string) error
}

// Address returns the URL of a repository, without a login.
func (r Repositories) Address(name string) string { return r.URL + "/" + name + ".git" }

// Has reports whether the home has a repository. It needs only Home.
func (r Repositories) Has(name string) bool {
	_, err := os.Stat(filepath.Join(r.Home.Git(), name+".git"))
	return err == nil
}

// Heads maps Flux's sources to the latest commits of their branches, in the form of graph.Scope. list is the
// platform's tenants. A source that has not fetched its commit is not ready. Heads needs only Home and Layer3.
func (r Repositories) Heads(list []teams.Team) map[string]string {
	heads := map[string]string{}
	add := func(namespace, source, repository, branch string) {
		if head, err := gitserver.Head(r.Home.Git(), repository, branch); err == nil {
			heads[namespace+"/"+source] = branch + "@sha1:" + head
		}
	}
	own := platform.PlatformAccount
	if r.Layer3 != nil {
		own = platform.OrganisationSync
	}
	add(platform.PlatformNamespace, own, Platform, gitserver.Branch)
	for _, team := range list {
		// Flux applies a version of the artifacts or tags, or objects, and not the latest commit of a branch.
		if team.Artifacts() || team.Objects() || team.Tags() {
			continue
		}
		repository := team.Name
		// Flux applies the catalogue from the platform repository. An entry that is Strata's own has a source with another branch,
		// for which this head says nothing.
		if team.Offer != "" {
			repository = Platform
		}
		add(team.Namespace(), team.ServiceAccount(), repository, team.Branch)
	}
	return heads
}

// Ensure creates the platform's repositories and those of the teams, and pushes the clone to the platform repository. tenants
// are the teams and the entries of the catalogue, which have their files in the clone. It calls warn if the clone and the
// repository have diverged, or if files of the clone are not committed.
func (r Repositories) Ensure(ctx context.Context, tenants []teams.Team, warn func(format string, args ...any)) error {
	if err := r.Create(ctx, Fleet); err != nil {
		return err
	}
	if err := r.Create(ctx, Platform); err != nil {
		return err
	}
	if err := r.pushPlatform(ctx, tenants, warn); err != nil {
		return err
	}
	if err := r.pushLayer3(ctx); err != nil {
		return err
	}
	people := slices.DeleteFunc(slices.Clone(tenants), func(t teams.Team) bool { return t.Offer != "" })
	return r.EnsureTeams(ctx, people)
}

// EnsureTeams creates the repository of each team, and writes the logins of all repositories.
func (r Repositories) EnsureTeams(ctx context.Context, list []teams.Team) error {
	for _, team := range list {
		if err := r.Create(ctx, team.Name); err != nil {
			return err
		}
		if err := r.seedTeam(ctx, team.Name); err != nil {
			return err
		}
	}
	// The repository of a removed team stays, and so does its login, so that the team can fetch its files.
	repositories, err := filepath.Glob(filepath.Join(r.Home.Git(), "*.git"))
	if err != nil {
		return err
	}
	accounts := []string{gitserver.Engineer}
	for _, repository := range repositories {
		if name := strings.TrimSuffix(filepath.Base(repository), ".git"); name != Fleet && name != Platform && name != Strata {
			accounts = append(accounts, name)
		}
	}
	return r.writeGitCredentials(accounts)
}

// pushPlatform pushes the current commit of the clone, and warns of changes that Flux would not see. It never overwrites commits that others pushed.
func (r Repositories) pushPlatform(ctx context.Context, list []teams.Team, warn func(format string, args ...any)) error {
	if err := r.checkCommit(ctx); err != nil {
		return fmt.Errorf("push %s as the platform repository: %w", r.Root, err)
	}
	folders := platform.SyncFolders()
	if r.Layer3 != nil {
		folders = folders[:1]
	}
	for _, team := range list {
		if team.Offer != "" {
			folders = append(folders, path.Clean(team.Path))
		}
	}
	changed, err := r.git(ctx, r.Root, append([]string{"status", "--porcelain", "--"}, folders...)...)
	if err != nil {
		return err
	}
	if changed != "" {
		warn("%s/ has changes that are not committed: Flux applies the last commit", strings.Join(folders, "/ or "))
	}
	report, err := r.git(ctx, r.Root, "push", "--porcelain", r.Address(Platform), "HEAD:refs/heads/"+gitserver.Branch)
	if err != nil && strings.Contains(report, "[rejected]") {
		warn("the platform repository contains commits that %s does not have: nothing was pushed; %s", r.Root, r.CloneCommand(Platform, gitserver.Engineer))
		return nil
	}
	return err
}

// seedTeam gives an empty team repository its first commit.
func (r Repositories) seedTeam(ctx context.Context, team string) error {
	remote := r.Address(team)
	// A repository with any branch belongs to the team: its first files may be gone on purpose.
	refs, err := r.git(ctx, r.Root, "ls-remote", remote)
	if err != nil || refs != "" {
		return err
	}
	work, err := os.MkdirTemp("", "strata-team-")
	if err != nil {
		return fmt.Errorf("fill the repository of team %s: %w", team, err)
	}
	defer os.RemoveAll(work)
	kept := map[string][]byte{}
	if r.Kept != nil {
		if kept, err = r.Kept(ctx, team); err != nil {
			return fmt.Errorf("fill the repository of team %s: %w", team, err)
		}
	}
	if err := writeFirstFiles(r.Example, work, team, kept); err != nil {
		return fmt.Errorf("fill the repository of team %s: %w", team, err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=" + gitserver.Branch},
		{"add", "--all"},
		{"commit", "--quiet", "--message=Begin with Strata's WordPress example"},
		{"push", "--quiet", remote, gitserver.Branch},
	} {
		if _, err := r.git(ctx, work, args...); err != nil {
			return fmt.Errorf("fill the repository of team %s: %w", team, err)
		}
	}
	return nil
}
