package supervisor

import (
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func TestTheRegistryHasTheLoginsOfTheGitServer(t *testing.T) {
	const secret = "a secret of the home"
	login := registryLogin(gitserver.NewLogins(secret))
	for _, user := range []string{"", gitserver.Engineer, "web"} {
		if _, known := login(user, gitserver.Password("another secret", user)); known {
			t.Errorf("%q may log in with a wrong password", user)
		}
	}
	if _, known := login("", gitserver.Password(secret, "")); known {
		t.Error("a client without a name may log in")
	}
	for _, c := range []struct {
		user, repository string
		pull, push       bool
	}{
		{gitserver.Engineer, "team-web/app", true, true},
		{gitserver.Engineer, "shared/app", true, true},
		{"web", "team-web/app", true, true},
		{"web", "team-web/tools/app", true, true},
		{"web", "shared/app", true, false},
		{"web", "team-shop/app", false, false},
		{"web", "team-web2/app", false, false},
		{"web", "team-web", false, false},
		{"web", "team-web/../team-shop/app", false, false},
		{"web", "app", false, false},
		{"web-reader", "team-web/app", true, false},
		{"web-reader", "team-web-reader/app", false, false},
		{"shop", "team-web/app", false, false},
	} {
		grant, known := login(c.user, gitserver.Password(secret, c.user))
		if !known {
			t.Fatalf("%s may not log in", c.user)
		}
		if bounded := grant.Quota > 0; grant.Push != nil && bounded != (c.user != gitserver.Engineer) {
			t.Errorf("%s has a quota: %t", c.user, bounded)
		}
		may := func(right func(string) bool) bool { return right != nil && right(c.repository) }
		if may(grant.Pull) != c.pull || may(grant.Push) != c.push {
			t.Errorf("%s on %s: pull %t, push %t, want %t, %t", c.user, c.repository, may(grant.Pull), may(grant.Push), c.pull, c.push)
		}
	}
}
