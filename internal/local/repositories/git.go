package repositories

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/shell"
)

// Password returns the password of a Git account.
func (r Repositories) Password(account string) (string, error) {
	secret, err := r.Home.Secret(supervisor.GitSecret)
	if err != nil {
		return "", err
	}
	return gitserver.Password(secret, account), nil
}

// CloneCommand returns a command that clones a repository as an account. The command reads the password from the home.
func (r Repositories) CloneCommand(repository, account string) string {
	helper, address := r.clone(repository, account)
	if address == "" {
		return ""
	}
	return fmt.Sprintf("git clone --config credential.helper=%s %s", shell.Quote(helper), address)
}

// CloneArguments returns the arguments of git that clone a repository as an account into a folder, as CloneCommand does.
func (r Repositories) CloneArguments(repository, account, dir string) []string {
	helper, address := r.clone(repository, account)
	return []string{"clone", "--config", "credential.helper=" + helper, "--", address, dir}
}

// clone returns the credential helper that reads the password from the home, and the repository's address with the account; the
// address is empty without a URL.
func (r Repositories) clone(repository, account string) (helper, address string) {
	u, err := url.Parse(r.Address(repository))
	if err != nil {
		return "", ""
	}
	u.User = url.User(account)
	// Git passes this value to a shell, so it needs quoting of its own.
	return "store --file=" + shell.Word(r.Home.GitCredentials()), u.String()
}

// git runs git with the engineer's account of the Git server, and returns its output, even if it fails. It passes the
// password in the environment, because every user of the machine can see arguments. It ignores the user's settings and
// hooks.
func (r Repositories) git(ctx context.Context, dir string, args ...string) (string, error) {
	password, err := r.Password(gitserver.Engineer)
	if err != nil {
		return "", err
	}
	login := base64.StdEncoding.EncodeToString([]byte(gitserver.Engineer + ":" + password))
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"GIT_CONFIG_COUNT=4",
		"GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+login,
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+os.DevNull,
		"GIT_CONFIG_KEY_2=safe.directory", "GIT_CONFIG_VALUE_2="+dir,
		// A repository's own configuration can name a program here, which git status would run.
		"GIT_CONFIG_KEY_3=core.fsmonitor", "GIT_CONFIG_VALUE_3=false",
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
func (r Repositories) writeGitCredentials(accounts []string) error {
	var lines strings.Builder
	for _, account := range accounts {
		password, err := r.Password(account)
		if err != nil {
			return err
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			return err
		}
		u.User = url.UserPassword(account, password)
		fmt.Fprintln(&lines, u)
	}
	return home.WriteFile(r.Home.GitCredentials(), []byte(lines.String()))
}
