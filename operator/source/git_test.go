package source_test

import (
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/source"
)

// repository is a Git repository that a server offers.
type repository struct {
	t   *testing.T
	dir string
}

// git runs git in the repository, without the settings of the user who runs the test.
func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a file and returns the commit's hash.
func (r repository) commit(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", name)
	return r.git("rev-parse", "HEAD")
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

// serve serves the repository over http, to requests that pass accepts, and returns its
// address.
func (r repository) serve(pass func(*http.Request) bool) string {
	r.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		r.t.Skip(err)
	}
	handler := &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if pass != nil && !pass(req) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	r.t.Cleanup(server.Close)
	return server.URL + "/" + filepath.Base(r.dir) + "/.git"
}

// fetch fetches into a new folder, and checks that nothing is left beside the folder.
func fetch(t *testing.T, g source.Git) (dir, revision string, err error) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	revision, err = g.Fetch(t.Context(), dir)
	if left, readErr := os.ReadDir(root); readErr != nil || len(left) != 1 {
		t.Errorf("beside the project %v were left (%v)", left, readErr)
	}
	return dir, revision, err
}

func TestBranchAndCommitAreCheckedOut(t *testing.T) {
	r := newRepository(t)
	first := r.commit("Pulumi.yaml", "name: first")
	second := r.commit("Pulumi.yaml", "name: second")
	r.git("tag", "-a", "-m", "x", "v1", first)
	url := r.serve(nil)
	cases := map[string]struct {
		git     source.Git
		commit  string
		content string
		history string
	}{
		"a branch":                     {source.Git{Branch: "main"}, second, "name: second", "2"},
		"a branch by its full name":    {source.Git{Branch: "refs/heads/main"}, second, "name: second", "2"},
		"a branch without its history": {source.Git{Branch: "main", Shallow: true}, second, "name: second", "1"},
		"a commit":                     {source.Git{Commit: first}, first, "name: first", "1"},
		"a commit without its history": {source.Git{Commit: second, Shallow: true}, second, "name: second", "1"},
		"a commit before a branch":     {source.Git{Commit: first, Branch: "main"}, first, "name: first", "1"},
		"a tag by its full name":       {source.Git{Branch: "refs/tags/v1"}, first, "name: first", "1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.git.URL = url
			head, err := c.git.Head(t.Context(), t.TempDir())
			if err != nil || head != c.commit {
				t.Errorf("head %q (%v), want %s", head, err, c.commit)
			}
			dir, revision, err := fetch(t, c.git)
			if err != nil || revision != c.commit {
				t.Fatalf("revision %q (%v), want %s", revision, err, c.commit)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "Pulumi.yaml")); err != nil || string(content) != c.content {
				t.Errorf("content %q (%v), want %q", content, err, c.content)
			}
			if commits := (repository{t, dir}).git("rev-list", "--count", "HEAD"); commits != c.history {
				t.Errorf("%s commits of history, want %s", commits, c.history)
			}
		})
	}
}

func TestCredentialsReachTheRepositoryOnly(t *testing.T) {
	r := newRepository(t)
	commit := r.commit("Pulumi.yaml", "name: shop")
	accepts := func(name, secret string) func(*http.Request) bool {
		return func(req *http.Request) bool {
			user, password, ok := req.BasicAuth()
			return ok && user == name && password == secret
		}
	}
	const secret = `can'ary "$HOME" 4711`
	cases := map[string]struct {
		pass func(*http.Request) bool
		auth source.GitAuth
		ok   bool
	}{
		"a token":                     {accepts("git", secret), source.GitAuth{Token: secret}, true},
		"a user and a password":       {accepts("ada", secret), source.GitAuth{User: "ada", Password: secret}, true},
		"a token before a password":   {accepts("git", secret), source.GitAuth{Token: secret, User: "ada", Password: "x"}, true},
		"a password that is wrong":    {accepts("ada", "other"), source.GitAuth{User: "ada", Password: secret}, false},
		"none where they are needed":  {accepts("ada", secret), source.GitAuth{}, false},
		"a password with other hosts": {nil, source.GitAuth{User: "ada", Password: secret}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := source.Git{URL: r.serve(c.pass), Branch: "main", Auth: c.auth}
			if c.pass == nil {
				var seen string
				thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					seen += req.Header.Get("Authorization")
					w.Header().Set("WWW-Authenticate", `Basic realm="thief"`)
					w.WriteHeader(http.StatusUnauthorized)
				}))
				defer thief.Close()
				leads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					http.Redirect(w, req, thief.URL+req.URL.String(), http.StatusFound)
				}))
				defer leads.Close()
				g.URL = leads.URL + "/x.git"
				defer func() {
					if seen != "" {
						t.Errorf("the host that was redirected to was shown %q", seen)
					}
				}()
			}
			_, revision, err := fetch(t, g)
			if c.ok != (err == nil) || c.ok && revision != commit {
				t.Fatalf("revision %q, error %v", revision, err)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "fetch branch main from http://127.0.0.1")) {
				t.Errorf("error %v, want one that names the repository and no secret", err)
			}
		})
	}
}

func TestRepositoriesThatAreRefused(t *testing.T) {
	r := newRepository(t)
	r.commit("Pulumi.yaml", "name: shop")
	hash := strings.Repeat("a", 40)
	cases := map[string]struct {
		git     source.Git
		message string
		invalid bool
	}{
		"a file of this machine":        {source.Git{URL: "file://" + r.dir, Branch: "main"}, `the scheme "file" is not allowed`, true},
		"a path of this machine":        {source.Git{URL: r.dir, Branch: "main"}, "reads no local repositories", true},
		"a relative path":               {source.Git{URL: "../x", Branch: "main"}, "reads no local repositories", true},
		"a command":                     {source.Git{URL: "ext::sh -c id", Branch: "main"}, "reads no local repositories", true},
		"an option":                     {source.Git{URL: "--upload-pack=id", Branch: "main"}, "reads no local repositories", true},
		"a host that is an option":      {source.Git{URL: "ssh://-oProxyCommand=id/x", Branch: "main"}, "has no valid host name", true},
		"a user that is an option":      {source.Git{URL: "-oProxyCommand@host:x", Branch: "main"}, "ssh would parse it as an option", true},
		"a user of two lines":           {source.Git{URL: "https://ada%0ahost=evil:x@host/x", Branch: "main"}, "contains a line break", true},
		"a password of two lines":       {source.Git{URL: "https://host/x", Branch: "main", Auth: source.GitAuth{User: "ada", Password: "canary\nhost=evil"}}, "contain a line break", true},
		"an address without an end":     {source.Git{URL: "https://host/" + strings.Repeat("x", 3000), Branch: "main"}, "longer than 2048", true},
		"a branch without an end":       {source.Git{URL: "https://host/x", Branch: strings.Repeat("x", 300)}, "not a valid name of a branch", true},
		"a password in what is refused": {source.Git{URL: "ftp://ada:canary@host/x", Branch: "main"}, "ftp://host/x", true},
		"a branch that is an option":    {source.Git{URL: "https://host/x", Branch: "--upload-pack=id"}, "not a valid name of a branch", true},
		"a branch that is a pattern":    {source.Git{URL: "https://host/x", Branch: "refs/heads/*"}, "not a valid name of a branch", true},
		"a short commit":                {source.Git{URL: "https://host/x", Commit: "abc1234"}, "give all of its 40 digits", true},
		"neither branch nor commit":     {source.Git{URL: "https://host/x"}, "no branch and no commit", true},
		"a branch that is not there":    {source.Git{URL: r.serve(nil), Branch: "other"}, "couldn't find remote ref refs/heads/other", false},
		"a commit that is not there":    {source.Git{URL: r.serve(nil), Commit: hash}, hash, false},
		"a server that is absent":       {source.Git{URL: "http://127.0.0.1:1/x", Branch: "main"}, "127.0.0.1", false},
		"a key that is none":            {source.Git{URL: "git@127.0.0.1:x", Branch: "main", Auth: source.GitAuth{SSHKey: "canary"}}, "the SSH key is not valid", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir, _, err := fetch(t, c.git)
			if err == nil || !strings.Contains(err.Error(), c.message) || errors.Is(err, source.ErrInvalid) != c.invalid {
				t.Errorf("error %v (invalid %v), want one that holds %q", err, errors.Is(err, source.ErrInvalid), c.message)
			}
			if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %q holds a secret or more than a line", err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "[^.]*")); err != nil || len(left) > 0 {
				t.Errorf("%v were left (%v)", left, err)
			}
		})
	}
}

func TestRepositoryOfTooManyFilesIsNotCheckedOut(t *testing.T) {
	r := newRepository(t)
	var index strings.Builder
	blob := r.commit("Pulumi.yaml", "name: shop") + ":Pulumi.yaml"
	hash := r.git("rev-parse", blob)
	for i := range 20_001 {
		index.WriteString("100644 " + hash + "\tf" + strings.Repeat("x", i%7) + "/" + string(rune('a'+i%26)) + strings.Repeat("y", i/1000) + "/" + string(rune('a'+i/26%26)) + "-" + strconv.Itoa(i) + "\n")
	}
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(index.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.git("commit", "-q", "-m", "many")
	dir, _, err := fetch(t, source.Git{URL: r.serve(nil), Branch: "main", Shallow: true})
	if err == nil || !strings.Contains(err.Error(), "more than 20000 files") {
		t.Errorf("error %v, want one about the number of files", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "[^.]*")); err != nil || len(left) > 0 {
		t.Errorf("%d files were checked out (%v)", len(left), err)
	}
}

func TestNoHookOrFilterOfTheOperatorRuns(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	mark := filepath.Join(home, "mark")
	config := "[core]\n\thooksPath = " + home + "\n[filter \"mark\"]\n\tsmudge = touch " + mark + "\n"
	for name, content := range map[string]string{".gitconfig": config, "post-checkout": "#!/bin/sh\ntouch " + mark + "\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := newRepository(t)
	r.commit(".gitattributes", "* filter=mark\n")
	if _, _, err := fetch(t, source.Git{URL: r.serve(nil), Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the operator's own git settings were used")
	}
}
