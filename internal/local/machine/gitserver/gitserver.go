// Package gitserver serves the Git repositories of a home over HTTP with git's own http-backend.
//
// Each repository has two accounts: the account with the repository's name may read and write it, and the account
// NAME-reader may only read it. The account of the engineer may read and write every repository. There is no anonymous
// access.
//
// An account cannot prevent the server from serving others: each account has slots of its own, every request and every
// git process has a time limit, and a push has bounds. The server checks each push before git accepts it, and rejects
// one that Flux must not build. The answer to an accepted push says what Flux applies, and contains the result if
// the client sets the push option "wait".
package gitserver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/strata-platform/strata/internal/ledger/receipt"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver/applied"
)

// Engineer is the account that may read and write every repository.
const Engineer = "engineer"

// Branch is the initial branch of repositories.
const Branch = "main"

// Reader returns the name of the account that may only read a repository.
func Reader(repository string) string { return repository + "-reader" }

// Server is the Git server of one home.
type Server struct {
	// Limits bounds what accounts may push and fetch. Set it before the first request.
	Limits Limits
	// Syncs returns the Kustomizations that build a repository. The default is one Kustomization of the root folder of
	// Branch. Set it before the first request.
	Syncs func(ctx context.Context, repository string) []Sync
	// Follow waits until Flux has applied a commit of a branch and the team's objects are ready, or until waiting does not
	// help, and returns the result as one line. It passes each cause of the wait to say. Nil means that no push can wait. Set it
	// before the first request.
	Follow func(ctx context.Context, repository, branch, commit string, say func(line string)) string
	// Received is called with each push that the server accepts. The client waits meanwhile. Nil means that nobody is told. Set it before
	// the first request.
	Received func(receipt.Push)
	// Plans keeps the plans of branches that Flux does not apply. Nil means that there are none. Set it before the first request.
	Plans Plans
	// AnyUser accepts the password of an account under any user name. Set it before the first request.
	AnyUser bool
	// Public are the repositories that everybody may read. Set it before the first request.
	Public []string
	// StatusCommand is the command that shows the status of the platform, for the answer to a push; empty means none.
	StatusCommand string

	root    string
	git     string
	logins  *Logins
	errors  *log.Logger
	pushed  func(repository string)
	slots   slots
	checked slots
	// followed holds the pushes that wait for their results.
	followed slots
	// planning holds the pushes that create plans, and recent the plans of the last minute.
	planning slots
	recent   recent
}

// Sync is a Kustomization that builds a repository.
type Sync = applied.Sync

// rootSync is the default of Syncs.
func rootSync(context.Context, string) []Sync {
	return []Sync{{Branch: Branch, Spec: trial.Sync{"path": "./"}}}
}

// New returns a server for the repositories below root. The accounts' passwords derive from secret. Git's errors go to
// logger. The server calls pushed after each push, while the client still waits, so pushed must return quickly. It may
// be nil.
func New(root, secret string, logger *log.Logger, pushed func(repository string)) (*Server, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("serve Git repositories: git is not on PATH: install git: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("serve Git repositories: %w", err)
	}
	s := &Server{Limits: DefaultLimits(), Syncs: rootSync, root: root, git: git, logins: NewLogins(secret), errors: logger, pushed: pushed}
	if err := s.installHooks(); err != nil {
		return nil, fmt.Errorf("serve Git repositories: %w", err)
	}
	return s, nil
}

// hermetic returns the environment of git without the settings of the machine and the user. Its HOME identifies a git
// process that outlives a killed server.
func (s *Server) hermetic() []string { return hermetic(s.root) }

func hermetic(root string) []string {
	return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + root, "PATH=" + os.Getenv("PATH")}
}

// Password returns the password of an account. It depends only on the home's secret and the account.
func Password(secret, account string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("git account " + account))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil))[:26]
}

// validName matches the names of repositories. Teams have the same names.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,62}[a-z0-9])?$`)

// Create creates an empty repository unless it exists.
func (s *Server) Create(ctx context.Context, name string) error {
	if !validName.MatchString(name) || strings.HasSuffix(name, "-reader") || name == Engineer {
		return fmt.Errorf("create the Git repository %q: use lower-case letters, digits and dashes; the name must not be %q and must not end in -reader", name, Engineer)
	}
	dir := filepath.Join(s.root, name+".git")
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	tmp, err := os.MkdirTemp(s.root, ".new-*")
	if err != nil {
		return fmt.Errorf("create the Git repository %s: %w", name, err)
	}
	defer os.RemoveAll(tmp)
	command := exec.CommandContext(ctx, s.git, "init", "--quiet", "--bare", "--initial-branch="+Branch, tmp)
	command.Env = s.hermetic()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("create the Git repository %s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create the Git repository %s: %w", name, err)
	}
	return nil
}

// Logins returns the logins of the server.
func (s *Server) Logins() *Logins { return s.logins }

// allowed reports whether an account may read a repository or, if writes is true, write to it.
func allowed(account, repository string, writes bool) bool {
	if !validName.MatchString(repository) {
		return false
	}
	return account == Engineer || account == repository || account == Reader(repository) && !writes
}
