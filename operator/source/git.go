package source

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"
)

const (
	// headTimeout bounds Head, and fetchTimeout bounds Fetch.
	headTimeout  = time.Minute
	fetchTimeout = 10 * time.Minute

	// maxAddress bounds the length of a repository's address, in bytes. The address is an
	// argument of git.
	maxAddress = 2048
)

// Git is a commit of a Git repository.
//
// Git runs the git command instead of using a library. A large repository then takes no
// memory of this process, and the sandbox confines git to the folders that it writes.
// The command runs without a user's configuration, hooks or submodules.
type Git struct {
	// URL is the repository's address, with the scheme https, http or ssh. An ssh address
	// may also have the form user@host:path. Addresses of files on this machine are
	// refused.
	URL string

	// Branch is the short or full name of the branch to follow. A full name may also be
	// that of a tag. Commit is the full hash of a commit. One of them is required, and
	// Commit takes precedence.
	Branch, Commit string

	// Shallow fetches the commit without its history.
	Shallow bool

	// Auth holds the credentials. The zero value means none.
	Auth GitAuth
}

// GitAuth holds the credentials for a Git repository.
type GitAuth struct {
	// Token is an access token for https and http. Token takes precedence over User and
	// Password.
	Token string

	// User and Password are for https and http. Both take precedence over the login in the
	// address.
	User, Password string

	// SSHKey is a private key in PEM. SSHKeyPassword is the password that encrypts it, or
	// empty.
	SSHKey, SSHKeyPassword string

	// KnownHosts lists host keys for ssh, in the format of OpenSSH's known_hosts. A host
	// is refused unless KnownHosts or this machine's /etc/ssh/ssh_known_hosts lists it.
	KnownHosts string
}

var (
	commitHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

	// branchName excludes names that git refuses or interprets differently
	// (git-check-ref-format(1)).
	branchName = regexp.MustCompile(`^[^-/.\x00-\x20~^:?*\[\\\x7f][^\x00-\x20~^:?*\[\\\x7f]{0,254}$`)

	// hostName matches host names and IP addresses. An asterisk must not match: the
	// address of the credentials' host is a key in git's settings, where an asterisk is a
	// wildcard.
	hostName = regexp.MustCompile(`^[A-Za-z0-9:][A-Za-z0-9.:_-]*$`)

	// scpAddress matches the short form of an ssh address.
	scpAddress = regexp.MustCompile(`^([A-Za-z0-9_.-]+@)?([A-Za-z0-9][A-Za-z0-9.-]*):([^:].*)$`)
)

// Head returns the hash of the commit to run: Commit, or the present commit of Branch.
// Until Head returns, files that git needs, such as a key, are in a new folder in
// parent. If a signal ends this process, the folder stays.
func (g Git) Head(ctx context.Context, parent string) (commit string, err error) {
	if err := g.validate(); err != nil {
		return "", err
	}
	if g.Commit != "" {
		return g.Commit, nil
	}
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	c, err := g.open(parent, "")
	if err != nil {
		return "", err
	}
	defer c.close()
	out, err := c.git(ctx, "ls-remote", "--quiet", "--", c.remote, g.ref(), g.ref()+"^{}")
	if err != nil {
		return "", fmt.Errorf("look up %s in %s: %w", g.Branch, c.shown, err)
	}
	// An annotated tag has two lines, and its commit comes last.
	for line := range strings.Lines(out) {
		if hash, _, _ := strings.Cut(line, "\t"); commitHash.MatchString(hash) {
			commit = hash
		}
	}
	if commit == "" {
		return "", fmt.Errorf("look up %s in %s: the repository has no such branch", g.Branch, c.shown)
	}
	return commit, nil
}

// Fetch checks the commit out into dst, an empty folder, and returns its hash. The
// repository stays in dst with the fetched history. After an error, dst may hold a part
// of the files.
func (g Git) Fetch(ctx context.Context, dst string) (revision string, err error) {
	if err := g.validate(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	c, err := g.open(filepath.Dir(dst), dst)
	if err != nil {
		return "", err
	}
	defer c.close()
	commit, err := c.fetch(ctx, g)
	if err != nil {
		return "", fmt.Errorf("fetch %s from %s: %w", g.wanted(), c.shown, err)
	}
	if err := c.bounded(ctx, commit); err != nil {
		return "", fmt.Errorf("check out %s from %s: %w", g.wanted(), c.shown, err)
	}
	if _, err := c.git(ctx, "checkout", "--quiet", "--force", "--detach", commit); err != nil {
		return "", fmt.Errorf("check out %s from %s: %w", g.wanted(), c.shown, err)
	}
	return commit, nil
}

// ref returns the full name of the branch.
func (g Git) ref() string {
	if strings.HasPrefix(g.Branch, "refs/") {
		return g.Branch
	}
	return "refs/heads/" + g.Branch
}

func (g Git) wanted() string {
	if g.Commit != "" {
		return "commit " + g.Commit
	}
	return "branch " + g.Branch
}

// validate returns an error if the commit can never be fetched.
func (g Git) validate() error {
	if _, err := g.address(); err != nil {
		return err
	}
	switch {
	case g.Commit != "" && !commitHash.MatchString(g.Commit):
		return invalid("commit %q is not the full hash of a commit: give all of its 40 digits", g.Commit)
	case g.Commit == "" && g.Branch == "":
		return invalid("no branch and no commit: set one of them")
	case strings.ContainsAny(g.Auth.User+g.Auth.Password+g.Auth.Token, "\x00\r\n"):
		// Git's credential helper terminates each value by the end of its line.
		return invalid("the credentials of the repository contain a line break: remove it")
	case g.Commit == "" && (!branchName.MatchString(g.Branch) || strings.Contains(g.Branch, "..")):
		return invalid("branch %q is not a valid name of a branch", g.Branch)
	}
	return nil
}

// address parses URL. address converts the short form into an ssh address.
func (g Git) address() (*url.URL, error) {
	text := g.URL
	if len(text) > maxAddress {
		return nil, invalid("repository: its address is longer than %d characters", maxAddress)
	}
	if !strings.Contains(text, "://") {
		parts := scpAddress.FindStringSubmatch(text)
		if parts == nil {
			return nil, invalid("repository: its address must begin with https://, http:// or ssh://; the operator reads no local repositories")
		}
		text = "ssh://" + parts[1] + parts[2] + "/" + strings.TrimPrefix(parts[3], "/")
	}
	address, err := url.Parse(text)
	if err != nil {
		// The error does not show the address, which may hold a password.
		return nil, invalid("repository: its address is not a valid URL")
	}
	switch address.Scheme {
	case "https", "http", "ssh":
	default:
		return nil, invalid("repository %s: the scheme %q is not allowed: use https, http or ssh", shown(address), address.Scheme)
	}
	if strings.HasPrefix(address.User.Username(), "-") {
		return nil, invalid("repository %s: its user name begins with a hyphen, so ssh would parse it as an option", shown(address))
	}
	if password, _ := address.User.Password(); strings.ContainsAny(address.User.Username()+password, "\x00\r\n") {
		return nil, invalid("repository %s: the login in its address contains a line break", shown(address))
	}
	if !hostName.MatchString(address.Hostname()) {
		return nil, invalid("repository %s: its address has no valid host name", shown(address))
	}
	if strings.ContainsFunc(address.User.Username()+address.Path, unicode.IsControl) {
		return nil, invalid("repository %s: its address contains control characters", shown(address))
	}
	return address, nil
}

// makeHome creates the folder that is HOME for the git commands of a checkout.
func makeHome(parent string) (string, error) {
	home, err := os.MkdirTemp(parent, "git-")
	if err != nil {
		return "", fmt.Errorf("make a folder for git: %w", err)
	}
	if home, err = filepath.Abs(home); err != nil {
		return "", fmt.Errorf("make a folder for git: %w", err)
	}
	return home, nil
}
