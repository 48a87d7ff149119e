package gitserver_test

import (
	"crypto/rand"
	"log"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

const secret = "a secret of the home"

// remote returns the URL of a repository with an account's login.
func remote(t *testing.T, base, repository, account, password string) string {
	t.Helper()
	u, err := url.Parse(base + "/" + repository + ".git")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(account, password)
	return u.String()
}

func git(dir string, args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestAccounts(t *testing.T) {
	server, err := gitserver.New(t.TempDir(), secret, log.New(t.Output(), "", 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	for _, name := range []string{"web", "shop", "web"} {
		if err := server.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"commit", "--quiet", "--allow-empty", "--message=first"}} {
		if out, err := git(work, args...); err != nil {
			t.Fatal(out)
		}
	}
	for name, tc := range map[string]struct {
		account, password, repository string
		push, fetch                   bool
	}{
		"the engineer writes everything":   {"engineer", gitserver.Password(secret, "engineer"), "web", true, true},
		"a team writes its own repository": {"web", gitserver.Password(secret, "web"), "web", true, true},
		"a reader only reads":              {"web-reader", gitserver.Password(secret, "web-reader"), "web", false, true},
		"a team does not see another's":    {"web", gitserver.Password(secret, "web"), "shop", false, false},
		"a reader does not see another's":  {"web-reader", gitserver.Password(secret, "web-reader"), "shop", false, false},
		"a wrong password opens nothing":   {"web", "wrong", "web", false, false},
		"another's password opens nothing": {"web", gitserver.Password(secret, "shop"), "web", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			url := remote(t, web.URL, tc.repository, tc.account, tc.password)
			if out, err := git(work, "push", "--quiet", url, "HEAD:refs/heads/"+tc.account); (err == nil) != tc.push {
				t.Errorf("push: %v %s", err, out)
			}
			if out, err := git(work, "ls-remote", url); (err == nil) != tc.fetch {
				t.Errorf("ls-remote: %v %s", err, out)
			}
		})
	}
}

// noise returns content that git cannot compress.
func noise(t *testing.T, size int) string {
	t.Helper()
	content := make([]byte, size)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestALargePushArrives(t *testing.T) {
	server, err := gitserver.New(t.TempDir(), secret, log.New(t.Output(), "", 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	if err := server.Create(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	work, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	// Git cannot compress the content, and sends more than 1 MiB in chunks.
	sent := noise(t, 3<<20)
	if err := os.WriteFile(filepath.Join(work, "noise"), []byte(sent), 0o600); err != nil {
		t.Fatal(err)
	}
	url := remote(t, web.URL, "web", "web", gitserver.Password(secret, "web"))
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"add", "noise"}, {"commit", "--quiet", "--message=noise"},
		{"push", "--quiet", url, "main"}, {"clone", "--quiet", url, copied},
	} {
		if out, err := git(work, args...); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, out)
		}
	}
	if got, err := os.ReadFile(filepath.Join(copied, "noise")); err != nil || string(got) != sent {
		t.Errorf("another file came back: %v", err)
	}
}

func TestAPushIsReportedAfterItsRefsChange(t *testing.T) {
	root := t.TempDir()
	var told []string
	server, err := gitserver.New(root, secret, log.New(t.Output(), "", 0), func(repository string) {
		head, err := git(filepath.Join(root, repository+".git"), "log", "--format=%s", gitserver.Branch)
		if err != nil {
			t.Error(head)
		}
		told = append(told, repository+": "+strings.TrimSpace(head))
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	if err := server.Create(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	as := func(account string) string {
		return remote(t, web.URL, "web", account, gitserver.Password(secret, account))
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"commit", "--quiet", "--allow-empty", "--message=first"},
		{"push", "--quiet", as("web"), "main"}, {"fetch", "--quiet", as(gitserver.Reader("web"))},
	} {
		if out, err := git(work, args...); err != nil {
			t.Fatal(out)
		}
	}
	if out, err := git(work, "push", "--quiet", as(gitserver.Reader("web")), "main:other"); err == nil {
		t.Fatal("a reader may push", out)
	}
	web.Close() // returns when all requests have ended
	if want := []string{"web: first"}; !slices.Equal(told, want) {
		t.Errorf("told was %q, want %q", told, want)
	}
}

func TestCreateRefusesNames(t *testing.T) {
	root := t.TempDir()
	server, err := gitserver.New(root, secret, log.New(t.Output(), "", 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "Web", "../web", "web-reader", "engineer", strings.Repeat("a", 65)} {
		if err := server.Create(t.Context(), name); err == nil {
			t.Errorf("repository %q was created", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*.git")); len(left) > 0 {
		t.Errorf("refused names left %v", left)
	}
}
