package gitcopy_test

import (
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/gke/gitcopy"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestABundleHasTheBranchesAndTagsOfItsHost(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	const secret = "a secret of the server"
	root := t.TempDir()
	host, err := gitserver.New(root, secret, log.New(t.Output(), "", 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(host)
	defer web.Close()
	for _, name := range []string{"web", "empty"} {
		if err := host.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	work, password := t.TempDir(), gitserver.Password(secret, "web")
	git(t, work, "init", "--quiet", "--initial-branch=main")
	git(t, work, "commit", "--quiet", "--allow-empty", "--message=first")
	git(t, work, "tag", "v1")
	git(t, work, "push", "--quiet", filepath.Join(root, "web.git"), "main", "main:other", "v1")

	dir := t.TempDir()
	source := func(repository, password string) gitcopy.Source {
		return gitcopy.Source{URL: web.URL + "/" + repository + ".git", Username: repository, Password: password}
	}
	file := filepath.Join(dir, "web.bundle")
	ok, err := gitcopy.Bundle(t.Context(), source("web", password), filepath.Join(dir, "web.git"), file)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	heads := git(t, dir, "bundle", "list-heads", file)
	for _, want := range []string{"refs/heads/main", "refs/heads/other", "refs/tags/v1"} {
		if !strings.Contains(heads, want) {
			t.Errorf("the bundle has no %s: %s", want, heads)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.git")); err != nil || len(left) > 0 {
		t.Errorf("the copies %v stay, %v", left, err)
	}
	if ok, err := gitcopy.Bundle(t.Context(), source("empty", gitserver.Password(secret, "empty")), filepath.Join(dir, "e.git"), filepath.Join(dir, "e.bundle")); err != nil || ok {
		t.Errorf("an empty repository has a bundle: %t, %v", ok, err)
	}
	if _, err := gitcopy.Bundle(t.Context(), source("web", "canary"), filepath.Join(dir, "w.git"), filepath.Join(dir, "w.bundle")); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a wrong password: %v", err)
	}
}

// refuse demands a login, and reports of each request whether it has one.
func refuse(asked chan<- bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _, login := r.BasicAuth()
		asked <- login
		w.Header().Set("WWW-Authenticate", `Basic realm="other"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusFound)
	}
}

func TestALoginIsForItsAddressOnly(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	// A host that sends git to another one gets the login, and the other one must not.
	asked := make(chan bool, 10)
	other := httptest.NewServer(refuse(asked))
	defer other.Close()
	host := httptest.NewServer(redirect(other.URL))
	defer host.Close()
	dir := t.TempDir()
	source := gitcopy.Source{URL: host.URL + "/web.git", Username: "web", Password: "canary"}
	if _, err := gitcopy.Bundle(t.Context(), source, filepath.Join(dir, "web.git"), filepath.Join(dir, "web.bundle")); err == nil {
		t.Error("a host that refuses everything has a repository")
	}
	close(asked)
	if len(asked) == 0 {
		t.Fatal("git did not follow the redirect")
	}
	for login := range asked {
		if login {
			t.Error("another host got the login")
		}
	}
}
