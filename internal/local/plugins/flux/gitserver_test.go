package flux

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/strata-platform/strata/components/fluxcd/example"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/repository"
)

// gitServer serves one bare repository by git's own http-backend, with basic authentication.
type gitServer struct {
	url      string
	dir      string
	username string

	mu       sync.Mutex
	password string
}

func newGitServer(t *testing.T) *gitServer {
	t.Helper()
	root := t.TempDir()
	s := &gitServer{dir: filepath.Join(root, "fleet.git"), username: "fleet", password: "s3cret-canary"}
	s.git(t, "init", "--bare", "--initial-branch=main", s.dir)
	s.git(t, "--git-dir="+s.dir, "config", "http.receivepack", "true")
	execPath := strings.TrimSpace(s.git(t, "--exec-path"))
	backend := &cgi.Handler{
		Path: filepath.Join(execPath, "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + s.username,
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH"),
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != s.username || p != s.current() {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "login required", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/fleet.git"
	return s
}

// setPassword changes the password of the server.
func (s *gitServer) setPassword(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

func (s *gitServer) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.password
}

// config returns the provider's configuration for the repository.
func (s *gitServer) config() repository.Git {
	return repository.Git{URL: s.url, HTTP: repository.HTTP{Username: s.username, Password: s.password, AllowInsecureHTTP: true}}
}

// repository returns a program's configuration for the repository.
func (s *gitServer) repository() example.Repository {
	return example.Repository{URL: s.url, Username: s.username, Password: s.current()}
}

func (s *gitServer) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// files lists the paths on the branch.
func (s *gitServer) files(t *testing.T) []string {
	t.Helper()
	return strings.Fields(s.git(t, "--git-dir="+s.dir, "ls-tree", "-r", "--name-only", "main"))
}

func (s *gitServer) show(t *testing.T, path string) string {
	t.Helper()
	return s.git(t, "--git-dir="+s.dir, "show", "main:"+path)
}

func (s *gitServer) commits(t *testing.T) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(s.git(t, "--git-dir="+s.dir, "log", "--format=%an: %s", "main")), "\n")
}

// push commits a file as somebody else.
func (s *gitServer) push(t *testing.T, path, content string) {
	t.Helper()
	c, err := repository.Write(t.Context(), options.Options{Config: options.Config{Git: s.config()}}.WithDefaults().Git, "Add "+path, map[string]string{path: content}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
