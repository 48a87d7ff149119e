package source

import (
	"context"
	"errors"
)

// Git is a commit of a git repository.
type Git struct {
	// URL is the repository's address: https, http or ssh, the latter also written
	// as user@host:path. Those that name files of this machine are refused.
	URL string

	// Branch is the branch to follow, by its short or full name. Commit is the full
	// hash of a commit. One of them is required; Commit wins.
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

	// User and Password are for https and http. User, when set, also wins over the
	// user in an address of ssh.
	User, Password string

	// SSHKey is a private key as PEM, and SSHKeyPassword what it is encrypted with.
	SSHKey, SSHKeyPassword string

	// KnownHosts lists the keys of hosts for ssh, in the form of OpenSSH's file of
	// that name. Without it the key that a host shows first is believed.
	KnownHosts string
}

// Head returns the hash of the commit to run: Commit, or what the repository has
// for Branch.
func (g Git) Head(ctx context.Context) (commit string, err error) {
	return "", errors.New("not written yet")
}

// Fetch checks the commit out into dst, an empty folder, and returns its hash. It
// leaves dst as far as it came when it fails.
func (g Git) Fetch(ctx context.Context, dst string) (revision string, err error) {
	return "", errors.New("not written yet")
}
