// Package gitcopy copies Git repositories from their hosts.
package gitcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// limit bounds the copy of one repository: whoever can push decides its size.
const limit = 5 * time.Minute

// grace is how long the output of a killed git is awaited.
const grace = 5 * time.Second

// Source is a repository on its host.
type Source struct {
	// URL is its address.
	URL string
	// Username and Password may read it. If both are empty, git uses the engineer's own logins.
	Username, Password string
}

// Bundle writes the branches and tags of a repository to a new file, by a copy of it in a new folder. For a repository without commits,
// which git cannot bundle, it writes no file, and ok is false.
func Bundle(ctx context.Context, from Source, folder, file string) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := git(ctx, "", from.login(), "clone", "--quiet", "--bare", "--no-recurse-submodules", "--", from.URL, folder); err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	refs, err := git(ctx, folder, nil, "for-each-ref", "--count=1")
	if err != nil || len(refs) == 0 {
		return false, err
	}
	_, err = git(ctx, folder, nil, "-c", "pack.window=0", "bundle", "create", "--quiet", file, "--all")
	return err == nil, err
}

// login returns the environment in which git uses the login at this address, and at no other. Every user can read a process's
// arguments, so the password is in a variable.
func (s Source) login() []string {
	if s.Username == "" && s.Password == "" {
		return nil
	}
	const helper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$STRATA_GIT_USERNAME" "$STRATA_GIT_PASSWORD"; }; f`
	return []string{
		"STRATA_GIT_USERNAME=" + s.Username, "STRATA_GIT_PASSWORD=" + s.Password, "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0=",
		"GIT_CONFIG_KEY_1=credential." + s.URL + ".helper", "GIT_CONFIG_VALUE_1=" + helper,
	}
}

// git runs git in a folder, and returns its output. It asks no questions.
func git(ctx context.Context, folder string, env []string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir, command.Env = folder, append(os.Environ(), append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")...)
	// A program that git has started may outlive a killed git, with its output.
	command.WaitDelay = grace
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], ctx.Err())
	case errors.As(err, &exit) && stderr.Len() > 0:
		// Git's message has several lines, and the last one has the result.
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("git %s: %q", args[0], lines[len(lines)-1])
	}
	return out, err
}
