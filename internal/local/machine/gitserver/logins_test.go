package gitserver_test

import (
	"errors"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func TestBothPasswordsAreValidUntilTheFormerOneGoes(t *testing.T) {
	logins := gitserver.NewLogins("first")
	var secrets []string
	var failure error
	logins.Follow(func() ([]string, error) { return secrets, failure })
	valid := func(secret string) bool { return logins.Authentic("web", gitserver.Password(secret, "web")) }
	for _, step := range []struct {
		secrets       []string
		failure       error
		first, second bool
	}{
		{[]string{"first"}, nil, true, false},
		{[]string{"second", "first"}, nil, true, true},
		{nil, errors.New("the file is missing"), true, true},
		{[]string{"second"}, nil, false, true},
	} {
		secrets, failure = step.secrets, step.failure
		if valid("first") != step.first || valid("second") != step.second {
			t.Errorf("%v: the first is valid: %v, the second: %v", step.secrets, valid("first"), valid("second"))
		}
		if logins.Authentic("web", gitserver.Password("second", "shop")) || logins.Authentic("", "") {
			t.Errorf("%v: the password of another account is valid", step.secrets)
		}
	}
}
