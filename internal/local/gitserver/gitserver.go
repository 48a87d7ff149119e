// Package gitserver serves the Git repositories of a home over HTTP with git's own http-backend.
//
// Each repository has two accounts besides the engineer's, which may do everything: one named like the repository,
// which may read and write it, and one named NAME-reader, which may only read it. There is no anonymous access.
package gitserver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Engineer is the account that may read and write every repository.
const Engineer = "engineer"

// Branch is the branch that repositories begin with.
const Branch = "main"

// Reader names the account that may only read a repository.
func Reader(repository string) string { return repository + "-reader" }

// Server is the Git server of one home.
type Server struct {
	root    string
	git     string
	secret  string
	backend cgi.Handler
	pushed  func(repository string)
}

// New makes a server for the repositories below root. The accounts' passwords derive from secret. Errors of git go to
// logger. pushed is called after each push, while the client still waits: it must not take long. It may be nil.
func New(root, secret string, logger *log.Logger, pushed func(repository string)) (*Server, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("serve Git repositories: git is not on PATH: install git: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("serve Git repositories: %w", err)
	}
	s := &Server{root: root, git: git, secret: secret, pushed: pushed}
	s.backend = cgi.Handler{
		Path: git,
		// The folder leads from the process list to the home.
		Args: []string{"-C", root, "http-backend"},
		Dir:  root,
		Env: append(s.hermetic(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1",
			// A shallow clone, as CI makes them, can be pushed too.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=receive.shallowUpdate", "GIT_CONFIG_VALUE_0=true"),
		Logger: logger,
		Stderr: logger.Writer(),
	}
	return s, nil
}

// hermetic keeps the machine's and the user's Git settings out. By its HOME a git is found that outlives a server that
// was killed.
func (s *Server) hermetic() []string {
	return []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + s.root, "PATH=" + os.Getenv("PATH")}
}

// Password is the password of an account. It is the same for as long as the home's secret is.
func Password(secret, account string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("git account " + account))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil))[:26]
}

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,62}[a-z0-9])?$`)

// Create makes an empty repository where there is none yet.
func (s *Server) Create(ctx context.Context, name string) error {
	if !validName.MatchString(name) || strings.HasSuffix(name, "-reader") || name == Engineer {
		return fmt.Errorf("create the Git repository %q: the name must be lower-case letters, digits and dashes, not %q and not end in -reader", name, Engineer)
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

// ServeHTTP serves /NAME.git.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git")
	account, password, given := r.BasicAuth()
	if !given || !s.authentic(account, password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="strata git"`)
		http.Error(w, "a user name and a password are needed", http.StatusUnauthorized)
		return
	}
	// A service that writes is asked for by name in both of the requests of a push (git, http-protocol).
	writes := r.URL.Query().Get("service") == "git-receive-pack" || strings.HasSuffix(r.URL.Path, "/git-receive-pack")
	if !ok || !allowed(account, repository, writes) {
		// Whether a repository exists is nobody's business who may not read it.
		http.Error(w, fmt.Sprintf("account %s may not do this with repository %s", account, repository), http.StatusForbidden)
		return
	}
	backend := s.backend
	backend.Env = append(slices.Clip(backend.Env), "REMOTE_USER="+account)
	// Git sends a large push in chunks. The cgi package refuses those, as CGI has no word for them; git's backend reads a
	// body of unknown length to its end.
	r.TransferEncoding = nil
	backend.ServeHTTP(w, r)
	if s.pushed != nil && r.Method == http.MethodPost && writes {
		s.pushed(repository)
	}
}

func (s *Server) authentic(account, password string) bool {
	return subtle.ConstantTimeCompare([]byte(Password(s.secret, account)), []byte(password)) == 1
}

func allowed(account, repository string, writes bool) bool {
	if !validName.MatchString(repository) {
		return false
	}
	return account == Engineer || account == repository || account == Reader(repository) && !writes
}
