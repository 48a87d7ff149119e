package gitserver_test

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

// site is a server with the repositories web and shop.
type site struct {
	*gitserver.Server
	web  *httptest.Server
	root string
}

func newSite(t *testing.T, change func(*gitserver.Limits)) *site {
	t.Helper()
	s := &site{root: t.TempDir()}
	var err error
	if s.Server, err = gitserver.New(s.root, secret, log.New(t.Output(), "", 0), nil); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s.Limits)
	}
	s.web = httptest.NewServer(s)
	t.Cleanup(s.web.Close)
	for _, name := range []string{"web", "shop"} {
		if err := s.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *site) remote(t *testing.T, repository, account string) string {
	return remote(t, s.web.URL, repository, account, gitserver.Password(secret, account))
}

// clone creates an empty repository to push from.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, dir, "init", "--quiet", "--initial-branch=main")
	return dir
}

func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return strings.TrimSpace(out)
}

func commit(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "add", ".")
	must(t, dir, "commit", "--quiet", "--message=x")
}

// object writes an arbitrary object, which git's own commands might refuse to create.
func object(t *testing.T, dir, kind string, content []byte) string {
	t.Helper()
	command := exec.Command("git", "hash-object", "-t", kind, "-w", "--stdin", "--literally")
	command.Dir, command.Stdin = dir, bytes.NewReader(content)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("hash-object: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// doubled creates a tree of 10^levels files in a few objects.
func doubled(t *testing.T, dir string, levels int) string {
	t.Helper()
	id, mode := object(t, dir, "blob", []byte("x")), "100644 blob"
	for range levels {
		var list strings.Builder
		for i := range 10 {
			fmt.Fprintf(&list, "%s %s\t%d\n", mode, id, i)
		}
		command := exec.Command("git", "mktree")
		command.Dir, command.Stdin = dir, strings.NewReader(list.String())
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		id, mode = strings.TrimSpace(string(out)), "040000 tree"
	}
	return id
}

const remoteBase = "resources: ['http://169.254.169.254/token']\n"

func TestPushesThatAreRefused(t *testing.T) {
	small := func(l *gitserver.Limits) {
		l.Pack, l.File, l.Tree, l.Files, l.Objects, l.Refs, l.Repository = 1<<20, 1<<21, 1<<22, 100, 300, 5, 8<<20
		l.Trial.Memory = 512 << 20
	}
	for name, each := range map[string]struct {
		make func(t *testing.T, dir string)
		push []string
		want string
	}{
		"a build that fetches": {
			func(t *testing.T, dir string) { commit(t, dir, "app/kustomization.yaml", remoteBase) }, nil,
			`: app/kustomization.yaml: resources[0] is the address "http://169.254.169.254/token"; a build reads the files of its repository and nothing else`,
		},
		"one that a later commit takes back": {
			func(t *testing.T, dir string) {
				commit(t, dir, "kustomization.yaml", remoteBase)
				commit(t, dir, "kustomization.yaml", "resources: []\n")
			}, nil, "kustomization.yaml: resources[0] is the address",
		},
		"a build that grows without end": {
			func(t *testing.T, dir string) {
				text := "configMapGenerator: [{name: a, literals: [a=b]}]\nreplacements:\n"
				for i := range 60 {
					text += fmt.Sprintf("- {source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x%d], options: {create: true}}]}\n", i)
				}
				commit(t, dir, "kustomization.yaml", text)
			}, nil, ": The repository takes more than ",
		},
		"one on another branch": {
			func(t *testing.T, dir string) {
				commit(t, dir, "a", "a")
				must(t, dir, "checkout", "--quiet", "-b", "other")
				commit(t, dir, "kustomization.yaml", remoteBase)
			}, []string{"main", "other:refs/notes/x"}, "kustomization.yaml: resources[0] is the address",
		},
		"one behind a tag": {
			func(t *testing.T, dir string) {
				commit(t, dir, "kustomization.yaml", remoteBase)
				must(t, dir, "tag", "-a", "-m", "x", "v1")
			}, []string{"v1"}, "kustomization.yaml: resources[0] is the address",
		},
		"a link out of the repository": {
			func(t *testing.T, dir string) {
				if err := os.Symlink("../../etc/passwd", filepath.Join(dir, "link")); err != nil {
					t.Fatal(err)
				}
				must(t, dir, "add", ".")
				must(t, dir, "commit", "--quiet", "--message=x")
			}, nil, `link is a symbolic link to "../../etc/passwd", outside of the repository`,
		},
		"a name that moves the cursor": {
			func(t *testing.T, dir string) { commit(t, dir, "a\x1b[2J\nyes\nb/kustomization.yaml", remoteBase) }, nil,
			`a\x1b[2J yes b/kustomization.yaml: resources[0]`,
		},
		"a large file in a small pack": {
			func(t *testing.T, dir string) { commit(t, dir, "zeros", strings.Repeat("\x00", 3<<20)) }, nil,
			"has a file of 3145728 bytes; the maximum is 2097152",
		},
		"many large files in a small pack": {
			func(t *testing.T, dir string) {
				for i := range 3 {
					commit(t, dir, fmt.Sprintf("zeros%d", i), strings.Repeat(fmt.Sprint(i), 1<<21))
				}
			}, nil, "has more than 4 MB of files",
		},
		"a tree of a billion files": {
			func(t *testing.T, dir string) {
				must(t, dir, "update-ref", "refs/heads/main", must(t, dir, "commit-tree", "-m", "x", doubled(t, dir, 9)))
			}, nil, "has more than 100 files",
		},
		"folders without end": {
			func(t *testing.T, dir string) { commit(t, dir, strings.Repeat("a/", 120)+"a", "x") }, nil, "nested more than 100 deep",
		},
		"a file outside of its folder": {
			func(t *testing.T, dir string) {
				tree := object(t, dir, "tree", append([]byte("40000 ..\x00"), []byte("\x4b\x82\x5d\xc6\x42\xcb\x6e\xb9\xa0\x60\xe5\x4b\xf8\xd6\x92\x88\xfb\xee\x49\x04")...))
				object(t, dir, "tree", nil)
				must(t, dir, "update-ref", "refs/heads/main", object(t, dir, "commit", []byte("tree "+tree+"\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nx")))
			}, nil, "hasDotdot",
		},
		"a large pack": {
			func(t *testing.T, dir string) { commit(t, dir, "noise", noise(t, 2<<20)) }, nil, "exceeds maximum allowed size",
		},
		"a tree of entries that are no objects": {
			func(t *testing.T, dir string) {
				var list strings.Builder
				for i := range 50_000 {
					fmt.Fprintf(&list, "160000 commit %040d\t%d\n", i+1, i)
				}
				command := exec.Command("git", "mktree", "--missing")
				command.Dir, command.Stdin = dir, strings.NewReader(list.String())
				out, err := command.Output()
				if err != nil {
					t.Fatal(err)
				}
				must(t, dir, "update-ref", "refs/heads/main", must(t, dir, "commit-tree", "-m", "x", strings.TrimSpace(string(out))))
			}, nil, "has more than 100 files",
		},
		"many objects": {
			func(t *testing.T, dir string) {
				for i := range 120 {
					commit(t, dir, "a", fmt.Sprint(i))
				}
			}, nil, "more than 300 objects",
		},
		"many branches": {
			func(t *testing.T, dir string) { commit(t, dir, "a", "a") },
			[]string{"main:a", "main:b", "main:c", "main:d", "main:e", "main:f"}, "changes more than 5 branches and tags: push fewer at a time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newSite(t, small), clone(t)
			each.make(t, dir)
			push := each.push
			if push == nil {
				push = []string{"main"}
			}
			out, err := git(dir, append([]string{"-c", "http.postBuffer=67108864", "push", s.remote(t, "web", "web")}, push...)...)
			if err == nil || !strings.Contains(out, each.want) {
				t.Errorf("the push ends with %v, want %q in\n%s", err, each.want, out)
			}
			if refs := must(t, dir, "ls-remote", s.remote(t, "web", "web")); refs != "" {
				t.Errorf("the repository has %s", refs)
			}
			if left, _ := filepath.Glob(filepath.Join(s.root, "*", "objects", "*", "*")); len(left) > 0 {
				t.Errorf("the push left %v", left)
			}
			if left, _ := filepath.Glob(filepath.Join(s.root, ".push*")); len(left) > 0 {
				t.Errorf("the push left %v", left)
			}
		})
	}
}

// A replacement shows git on the server other objects than the ones that a client fetches (git-replace(1)).
func TestReplacementsHideNothing(t *testing.T) {
	s, dir := newSite(t, nil), clone(t)
	url := s.remote(t, "web", "web")
	commit(t, dir, "kustomization.yaml", "resources: []\n")
	good := must(t, dir, "rev-parse", "HEAD:kustomization.yaml")
	must(t, dir, "push", "--quiet", url, "main")
	commit(t, dir, "kustomization.yaml", remoteBase)
	bad := must(t, dir, "rev-parse", "HEAD:kustomization.yaml")
	if out, err := git(dir, "push", url, good+":refs/replace/"+bad); err == nil || !strings.Contains(out, "accepts no replacements of objects") {
		t.Errorf("a replacement is pushed: %v: %s", err, out)
	}
	must(t, filepath.Join(s.root, "web.git"), "update-ref", "refs/replace/"+bad, good)
	if out, err := git(dir, "push", url, "main"); err == nil || !strings.Contains(out, "resources[0] is the address") {
		t.Errorf("the replaced object is pushed: %v: %s", err, out)
	}
}

func TestARepositoryIsFullAtSomeTime(t *testing.T) {
	s, dir := newSite(t, func(l *gitserver.Limits) { l.Repository, l.Refs = 1<<20, 3 }), clone(t)
	commit(t, dir, "noise", noise(t, 600<<10))
	url := s.remote(t, "web", "web")
	must(t, dir, "push", "--quiet", url, "main", "main:b", "main:c")
	if out, err := git(dir, "push", url, "main:d"); err == nil || !strings.Contains(out, "would have more than 3 branches and tags: delete some") {
		t.Errorf("a fourth branch: %v: %s", err, out)
	}
	commit(t, dir, "noise", noise(t, 600<<10))
	if out, err := git(dir, "push", url, "main"); err == nil || !strings.Contains(out, "the repository would have 1 MB, and may have at most 1 MB") {
		t.Errorf("a second megabyte: %v: %s", err, out)
	}
	must(t, dir, "push", "--quiet", url, ":b")
	commit(t, dir, "noise", "less")
	// The limit applies to each repository by itself.
	must(t, dir, "push", "--quiet", s.remote(t, "shop", "shop"), "main~2:refs/heads/main")
}

func TestASlowPushDelaysNoOther(t *testing.T) {
	s, dir := newSite(t, func(l *gitserver.Limits) { l.Wait, l.Time = 50*time.Millisecond, 30*time.Second }), clone(t)
	commit(t, dir, "a", "a")
	// The request has the headers of a push and no body.
	connection, err := net.Dial("tcp", s.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	request, err := http.NewRequest(http.MethodPost, s.web.URL+"/web.git/git-receive-pack", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("web", gitserver.Password(secret, "web"))
	fmt.Fprintf(connection, "POST /web.git/git-receive-pack HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: 1000\r\n"+
		"Content-Type: application/x-git-receive-pack-request\r\n\r\n", request.Header.Get("Authorization"))
	// The push holds its slot from the moment at which the server has created the folder of its hook.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		if made, _ := filepath.Glob(filepath.Join(s.root, ".push-*")); len(made) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the slow push did not begin")
		}
	}
	if out, err := git(dir, "push", s.remote(t, "web", "web"), "main"); err == nil || !strings.Contains(out, "503") {
		t.Errorf("a second push of the same account: %v: %s", err, out)
	}
	must(t, dir, "push", "--quiet", s.remote(t, "shop", "shop"), "main")
	must(t, dir, "push", "--quiet", s.remote(t, "web", "engineer"), "main")
	must(t, dir, "ls-remote", s.remote(t, "web", "web-reader"))
}

func TestSlowRequestsEnd(t *testing.T) {
	s := newSite(t, func(l *gitserver.Limits) { l.Time = 300 * time.Millisecond })
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.SetBasicAuth("web", gitserver.Password(secret, "web"))
	login := "Authorization: " + request.Header.Get("Authorization") + "\r\n"
	for name, header := range map[string]string{
		"a push that breaks off":      login + "Content-Length: 1000\r\nContent-Type: application/x-git-receive-pack-request\r\n",
		"one of unknown length":       login + "Transfer-Encoding: chunked\r\nContent-Type: application/x-git-receive-pack-request\r\n",
		"one without a login":         "Content-Length: 1000\r\n",
		"one that is longer than all": login + "Content-Length: 9223372036854775807\r\nContent-Type: application/x-git-receive-pack-request\r\n",
	} {
		connection, err := net.Dial("tcp", s.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(connection, "POST /web.git/git-receive-pack HTTP/1.1\r\nHost: x\r\n%s\r\n", header)
		// The server must close the connection. If it does not, the test times out.
		if _, err := new(bytes.Buffer).ReadFrom(connection); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		connection.Close()
	}
}

func TestPathsThatLeadToAnothersRepository(t *testing.T) {
	s, dir := newSite(t, nil), clone(t)
	commit(t, dir, "a", "a")
	must(t, dir, "push", "--quiet", s.remote(t, "shop", "shop"), "main")
	for _, path := range []string{
		"/web.git/../shop.git/info/refs?service=git-upload-pack", "/web.git%2f..%2fshop.git/info/refs?service=git-upload-pack",
		"/web.git/objects/../../shop.git/HEAD", "/web.git/objects/%2e%2e/%2e%2e/shop.git/HEAD", "/shop.git/HEAD", "/web.git/config", "/web.git/hooks/pre-receive",
		"/.hooks/pre-receive", "/web.git/info/refs?service=git-upload-pack&service=git-receive-pack", "//shop.git/HEAD", "/web.git/objects/../config",
	} {
		request, err := http.NewRequest(http.MethodGet, s.web.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("web", gitserver.Password(secret, "web"))
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode < 400 {
			t.Errorf("%s answers %s", path, answer.Status)
		}
	}
}
