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
	// headTimeout and fetchTimeout bound how long a repository may take to answer.
	headTimeout  = time.Minute
	fetchTimeout = 10 * time.Minute

	// maxAddress bounds a repository's address, in bytes: it is an argument of git.
	maxAddress = 2048
)

// Git is a commit of a git repository.
//
// The git command does the work, not a library: a repository of any size then
// takes none of this process's memory, and git is confined to the folders that it
// writes. It runs without anybody's configuration, hooks or submodules.
type Git struct {
	// URL is the repository's address: https, http or ssh, the latter also written
	// as user@host:path. Those that name files of this machine are refused.
	URL string

	// Branch is the branch to follow, by its short or full name; a full name may
	// also be a tag's. Commit is the full hash of a commit. One of them is required;
	// Commit wins.
	Branch, Commit string

	// Shallow fetches the commit without its history.
	Shallow bool

	// Auth holds the credentials, the zero value for none.
	Auth GitAuth
}

// GitAuth holds the credentials for a git repository.
type GitAuth struct {
	// Token is an access token for https and http. It wins over User and Password.
	Token string

	// User and Password are for https and http. They win over those in the address.
	User, Password string

	// SSHKey is a private key as PEM, and SSHKeyPassword what it is encrypted with.
	SSHKey, SSHKeyPassword string

	// KnownHosts lists the keys of hosts for ssh, in the form of OpenSSH's file of
	// that name. A host that neither it nor this machine's /etc/ssh/ssh_known_hosts
	// lists is refused.
	KnownHosts string
}

var (
	commitHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

	// branchName leaves out what git refuses or takes for something else
	// (git-check-ref-format(1)).
	branchName = regexp.MustCompile(`^[^-/.\x00-\x20~^:?*\[\\\x7f][^\x00-\x20~^:?*\[\\\x7f]{0,254}$`)

	// hostName matches names and IP addresses. In git's settings, where an address
	// names the credentials' host, an asterisk would stand for any.
	hostName = regexp.MustCompile(`^[A-Za-z0-9:][A-Za-z0-9.:_-]*$`)

	// scpAddress is the short form of an address of ssh.
	scpAddress = regexp.MustCompile(`^([A-Za-z0-9_.-]+@)?([A-Za-z0-9][A-Za-z0-9.-]*):([^:].*)$`)
)

// Head returns the hash of the commit to run: Commit, or what the repository has
// for Branch. What git needs for that, such as a key, is in a new folder in parent
// until it returns; after the end of this process by a signal it is left there.
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
	// The commit of an annotated tag comes last.
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
// repository, with what history was fetched, stays in dst. It leaves dst as far as
// it came when it fails.
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

// validate finds what can never be fetched.
func (g Git) validate() error {
	if _, err := g.address(); err != nil {
		return err
	}
	switch {
	case g.Commit != "" && !commitHash.MatchString(g.Commit):
		return invalid("commit %q is no full hash of a commit: give all of its 40 digits", g.Commit)
	case g.Commit == "" && g.Branch == "":
		return invalid("neither branch nor commit: say which one to run")
	case strings.ContainsAny(g.Auth.User+g.Auth.Password+g.Auth.Token, "\x00\r\n"):
		// Git's helper for credentials ends each at the end of its line.
		return invalid("the credentials of the repository hold the end of a line: remove it")
	case g.Commit == "" && (!branchName.MatchString(g.Branch) || strings.Contains(g.Branch, "..")):
		return invalid("branch %q is no name of a branch", g.Branch)
	}
	return nil
}

// address parses URL. Addresses of the short form become those of ssh.
func (g Git) address() (*url.URL, error) {
	text := g.URL
	if len(text) > maxAddress {
		return nil, invalid("repository: its address is longer than %d characters", maxAddress)
	}
	if !strings.Contains(text, "://") {
		parts := scpAddress.FindStringSubmatch(text)
		if parts == nil {
			return nil, invalid("repository: its address is not one of https, http or ssh, and files of this machine are not read")
		}
		text = "ssh://" + parts[1] + parts[2] + "/" + strings.TrimPrefix(parts[3], "/")
	}
	address, err := url.Parse(text)
	if err != nil {
		// What cannot be parsed may hold a password.
		return nil, invalid("repository: its address cannot be understood")
	}
	switch address.Scheme {
	case "https", "http", "ssh":
	default:
		return nil, invalid("repository %s: addresses of the kind %q are refused: use https, http or ssh", shown(address), address.Scheme)
	}
	if strings.HasPrefix(address.User.Username(), "-") {
		return nil, invalid("repository %s: the name of its user begins with a hyphen, which ssh takes for an option", shown(address))
	}
	if password, _ := address.User.Password(); strings.ContainsAny(address.User.Username()+password, "\x00\r\n") {
		return nil, invalid("repository %s: the login in its address holds the end of a line", shown(address))
	}
	if !hostName.MatchString(address.Hostname()) {
		return nil, invalid("repository %s: its address names no host", shown(address))
	}
	if strings.ContainsFunc(address.User.Username()+address.Path, unicode.IsControl) {
		return nil, invalid("repository %s: its address holds control characters", shown(address))
	}
	return address, nil
}

// makeHome makes the folder that is HOME for a checkout's commands.
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
