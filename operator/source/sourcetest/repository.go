// Package sourcetest serves Git repositories for tests.
package sourcetest

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repository is a Git repository behind HTTP, with the branch main.
type Repository struct {
	// Dir is the repository's folder, and URL its address.
	Dir, URL string

	command string
}

// New returns an empty repository that one user may read; empty strings mean that everybody may. It skips the test if this machine has
// no git.
func New(t *testing.T, user, password string) *Repository {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	r := &Repository{command: git, Dir: t.TempDir()}
	r.Git(t, "init", "--quiet", "--initial-branch=main")
	backend := &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.Dir), "GIT_HTTP_EXPORT_ALL=1"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if u, p, _ := req.BasicAuth(); u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL + "/" + filepath.Base(r.Dir)
	return r
}

// Git runs git in the repository, without the configuration of this machine, and returns its trimmed output.
func (r *Repository) Git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(r.command, append([]string{"-C", r.Dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit writes a file, commits everything and returns the hash of the commit.
func (r *Repository) Commit(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Git(t, "add", "--all")
	r.Git(t, "commit", "--quiet", "--message=change")
	return r.Git(t, "rev-parse", "HEAD")
}
