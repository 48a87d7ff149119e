package gitserver_test

import (
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func TestTheCopyOfAHostKnowsPasswordsAndPublicRepositories(t *testing.T) {
	s, dir := newSite(t, nil), clone(t)
	commit(t, dir, "a", "a")
	for _, name := range []string{"web", "shop"} {
		must(t, dir, "push", "--quiet", s.remote(t, name, name), "main")
	}
	reader := gitserver.Password(secret, "web-reader")
	if _, err := git(dir, "ls-remote", remote(t, s.web.URL, "web", "x-access-token", reader)); err == nil {
		t.Error("without AnyUser, another user name is accepted")
	}
	if _, err := git(dir, "ls-remote", s.web.URL+"/web.git"); err == nil {
		t.Error("without Public, everybody reads the repository")
	}
	s.AnyUser, s.Public = true, []string{"shop"}
	for name, c := range map[string]struct {
		repository, user, password string
		push, fetch                bool
	}{
		"a token of a reader":           {"web", "x-access-token", reader, false, true},
		"a token of a team":             {"web", "git", gitserver.Password(secret, "web"), true, true},
		"the token of another":          {"web", "git", gitserver.Password(secret, "shop"), false, false},
		"no token":                      {"web", "git", "wrong", false, false},
		"a wrong token of a public one": {"shop", "git", "wrong", false, true},
	} {
		url := remote(t, s.web.URL, c.repository, c.user, c.password)
		if out, err := git(dir, "push", "--quiet", url, "HEAD:refs/heads/b"); (err == nil) != c.push {
			t.Errorf("%s: push: %v %s", name, err, out)
		}
		if out, err := git(dir, "ls-remote", url); (err == nil) != c.fetch {
			t.Errorf("%s: ls-remote: %v %s", name, err, out)
		}
	}
	if out, err := git(dir, "ls-remote", s.web.URL+"/shop.git"); err != nil {
		t.Errorf("nobody reads the public repository: %v %s", err, out)
	}
	if _, err := git(dir, "push", s.web.URL+"/shop.git", "HEAD:refs/heads/c"); err == nil {
		t.Error("everybody writes the public repository")
	}
}
