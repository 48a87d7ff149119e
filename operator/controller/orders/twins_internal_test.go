package orders

import (
	"fmt"
	"testing"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/teams"
)

// TestTheNamesOfTheLayersAreKept compares the names that this package has of its own with those of layer 2: the operator may
// not import the layers.
func TestTheNamesOfTheLayersAreKept(t *testing.T) {
	entry := teams.Offer{Name: "database"}.Team()
	kind := Kind{Singular: "database"}
	for what, each := range map[string]struct{ have, want string }{
		"the label of the platform's objects": {hopLabel, hop.Label},
		"the namespace of a team":             {teamPrefix + "web", teams.Team{Name: "web"}.Namespace()},
		"the namespace of an entry":           {kind.Namespace(), entry.Namespace()},
		"the account of an entry":             {kind.Account(), entry.ServiceAccount()},
	} {
		if each.have != each.want {
			t.Errorf("%s: this package has %s, the layers have %s", what, each.have, each.want)
		}
	}
}

func TestTheNamesOfTeamsAreThoseOfTheList(t *testing.T) {
	for name, want := range map[string]bool{
		"web": true, "a": true, "a1": true, "a--b": true, "shop-eu": true,
		"a-": false, "-a": false, "A": false, "1a": false, "x_y": false, "x.y": false, "": false,
	} {
		list := fmt.Sprintf("apiVersion: strata/v1\nkind: Teams\nteams: [{name: %q}]\n", name)
		_, err := teams.Decode([]byte(list))
		if (err == nil) != want || teamPattern.MatchString(name) != want {
			t.Errorf("team %q: the list says %v, the operator accepts it: %t, want %t", name, err, teamPattern.MatchString(name), want)
		}
	}
}
