package local

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/platform"
)

// firstTeamFiles is the folder of the first files in a team's repository.
const firstTeamFiles = "examples/wordpress"

// firstTeamAccounts are the files that contain the team's account.
var firstTeamAccounts = []string{"app-infra.yaml", "wordpress.yaml"}

// accountField matches the line with the team's account.
var accountField = regexp.MustCompile(`(?m)^( +serviceAccountName: ).*$`)

// EnsureRepositories creates the platform's repositories and pushes this clone to the platform repository. It calls
// warn if the clone and the repository have diverged.
func (p *Platform) EnsureRepositories(ctx context.Context, status supervisor.Status, warn func(format string, args ...any)) error {
	if _, err := p.Teams(); err != nil {
		return err
	}
	if err := p.client.CreateRepository(ctx, fleetRepository); err != nil {
		return err
	}
	if err := p.client.CreateRepository(ctx, platformRepository); err != nil {
		return err
	}
	if err := p.pushPlatform(ctx, status, warn); err != nil {
		return err
	}
	return p.ensureTeamRepositories(ctx, status)
}

// ensureTeamRepositories creates the repository of each team, and writes the logins of all repositories.
func (p *Platform) ensureTeamRepositories(ctx context.Context, status supervisor.Status) error {
	list, err := p.Teams()
	if err != nil {
		return err
	}
	for _, team := range list {
		if err := p.client.CreateRepository(ctx, team.Name); err != nil {
			return err
		}
		if err := p.seedTeam(ctx, status, team.Name); err != nil {
			return err
		}
	}
	// The repository of a removed team stays, and so does its login, so that the team can fetch its files.
	repositories, err := filepath.Glob(filepath.Join(p.Home.Git(), "*.git"))
	if err != nil {
		return err
	}
	accounts := []string{gitserver.Engineer}
	for _, repository := range repositories {
		if name := strings.TrimSuffix(filepath.Base(repository), ".git"); name != fleetRepository && name != platformRepository {
			accounts = append(accounts, name)
		}
	}
	return p.writeGitCredentials(status, accounts)
}

// pushPlatform pushes the current commit of this clone. It never overwrites commits that others pushed.
func (p *Platform) pushPlatform(ctx context.Context, status supervisor.Status, warn func(format string, args ...any)) error {
	if _, err := p.git(ctx, p.Root, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return fmt.Errorf("push %s as the platform repository: it is not a Git repository with a commit: clone Strata with git: %w", p.Root, err)
	}
	changed, err := p.git(ctx, p.Root, append([]string{"status", "--porcelain", "--"}, platform.SyncFolders()...)...)
	if err != nil {
		return err
	}
	if changed != "" {
		warn("sync/ or operator/config/ has changes that are not committed: Flux applies the last commit")
	}
	report, err := p.git(ctx, p.Root, "push", "--porcelain", repositoryURL(status, platformRepository), "HEAD:refs/heads/"+gitserver.Branch)
	if err != nil && strings.Contains(report, "[rejected]") {
		warn("the platform repository contains commits that this clone does not have: nothing was pushed; %s", p.CloneCommand(status, platformRepository, gitserver.Engineer))
		return nil
	}
	return err
}

// seedTeam gives an empty team repository its first commit.
func (p *Platform) seedTeam(ctx context.Context, status supervisor.Status, team string) error {
	remote := repositoryURL(status, team)
	// A repository with any branch belongs to the team: its first files may be gone on purpose.
	refs, err := p.git(ctx, p.Root, "ls-remote", remote)
	if err != nil || refs != "" {
		return err
	}
	work, err := os.MkdirTemp("", "strata-team-")
	if err != nil {
		return fmt.Errorf("fill the repository of team %s: %w", team, err)
	}
	defer os.RemoveAll(work)
	if err := writeFirstFiles(filepath.Join(p.Root, firstTeamFiles), work, team); err != nil {
		return fmt.Errorf("fill the repository of team %s: %w", team, err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=" + gitserver.Branch},
		{"add", "--all"},
		{"commit", "--quiet", "--message=Begin with Strata's WordPress example"},
		{"push", "--quiet", remote, gitserver.Branch},
	} {
		if _, err := p.git(ctx, work, args...); err != nil {
			return fmt.Errorf("fill the repository of team %s: %w", team, err)
		}
	}
	return nil
}

// exampleTeam is the team in the example's files.
const exampleTeam = "web"

// These expressions find the names in the example that must become the team's.
var (
	// exampleWord matches the example's team, its account and its namespace.
	exampleWord = regexp.MustCompile(`\b` + exampleTeam + `(_|\b)`)
	// databaseUser matches the line with the user of the example's database.
	databaseUser = regexp.MustCompile(`(?m)^( +name: )` + exampleTeam + `$`)
)

// writeFirstFiles copies the example to a folder for a team. The account gets the team's name. Because the teams share
// an instance, the database's user gets the team's name too, and the database's name begins with it.
func writeFirstFiles(example, folder, team string) error {
	if err := os.CopyFS(folder, os.DirFS(example)); err != nil {
		return err
	}
	// YAML may read a team's name as another type, such as "on", so it needs encoding.
	name, err := yaml.Marshal(team)
	if err != nil {
		return err
	}
	own := append([]byte(`${1}`), bytes.TrimSpace(name)...)
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if entry.Name() == firstTeamAccounts[0] {
			if !databaseUser.Match(content) {
				return fmt.Errorf("%s of %s names no database user %s", entry.Name(), firstTeamFiles, exampleTeam)
			}
			content = databaseUser.ReplaceAll(content, own)
		}
		content = exampleWord.ReplaceAll(content, []byte(team+`${1}`))
		if slices.Contains(firstTeamAccounts, entry.Name()) {
			if !accountField.Match(content) {
				return fmt.Errorf("%s of %s sets no serviceAccountName on a line of its own", entry.Name(), firstTeamFiles)
			}
			content = accountField.ReplaceAll(content, own)
		}
		return os.WriteFile(path, content, 0o600)
	})
}

// git runs git with the engineer's account of the Git server, and returns its output, even if it fails. It passes the
// password in the environment, because every user of the machine can see arguments. It ignores the user's settings and
// hooks.
func (p *Platform) git(ctx context.Context, dir string, args ...string) (string, error) {
	password, err := p.gitPassword(gitserver.Engineer)
	if err != nil {
		return "", err
	}
	login := base64.StdEncoding.EncodeToString([]byte(gitserver.Engineer + ":" + password))
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+login,
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+os.DevNull,
		"GIT_CONFIG_KEY_2=safe.directory", "GIT_CONFIG_VALUE_2="+dir,
		"GIT_AUTHOR_NAME=Strata", "GIT_AUTHOR_EMAIL="+supervisor.Engineer,
		"GIT_COMMITTER_NAME=Strata", "GIT_COMMITTER_EMAIL="+supervisor.Engineer,
	)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// writeGitCredentials writes the accounts' logins for Git's credential helper git-credential-store.
func (p *Platform) writeGitCredentials(status supervisor.Status, accounts []string) error {
	var lines strings.Builder
	for _, account := range accounts {
		password, err := p.gitPassword(account)
		if err != nil {
			return err
		}
		u, err := url.Parse(status.GitURL)
		if err != nil {
			return err
		}
		u.User = url.UserPassword(account, password)
		fmt.Fprintln(&lines, u)
	}
	return home.WriteFile(p.Home.GitCredentials(), []byte(lines.String()))
}
