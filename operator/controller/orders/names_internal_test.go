package orders

import (
	"strings"
	"testing"
)

// FuzzNames checks that two orders never share a name, and that the names of an order say whose it is.
func FuzzNames(f *testing.F) {
	for _, seed := range [][4]string{
		{"a", "b-c", "a-b", "c"}, {"a--b", "c", "a", "b--c"}, {"a", "b", "a", "b"}, {"web", "x_y", "web_x", "y"}, {"a-", "b", "a", "-b"}, {"A", "b", "a", "b"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, team, order, otherTeam, otherOrder string) {
		one, err := namesOf(team, order)
		if err != nil {
			return
		}
		if len(one.content()) > 32 {
			t.Errorf("%s is too long for a MySQL user", one.content())
		}
		if owner, rest, _ := strings.Cut(one.content(), "_"); owner != team || rest != order {
			t.Errorf("%s reads as %s of team %s", one.content(), rest, owner)
		}
		at := strings.LastIndex(one.stack(), "--")
		if one.stack()[:at] != team || one.stack()[at+2:] != order {
			t.Errorf("%s reads as %s of team %s", one.stack(), one.stack()[at+2:], one.stack()[:at])
		}
		other, err := namesOf(otherTeam, otherOrder)
		if err != nil || one == other {
			return
		}
		if one.stack() == other.stack() || one.content() == other.content() {
			t.Errorf("%+v and %+v share a name", one, other)
		}
	})
}
