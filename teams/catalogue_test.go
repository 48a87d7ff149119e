package teams_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-platform/strata/teams"
)

func TestAnOfferIsATeamOfThePlatform(t *testing.T) {
	file, err := teams.Decode([]byte(header + "teams: [{name: web}]\ncatalogue: [{name: database}, {name: abcdefghijklmno, perTeam: 3, allow: [\"random:*\"]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	all := file.All()
	if len(all) != 3 || all[0].Name != "web" || all[0].Offer != "" {
		t.Fatalf("the teams are %+v", all)
	}
	database := all[1]
	if database.Offer != "database" || database.Path != "./catalogue/database" || !slices.Equal(database.May, []string{teams.MayStacks}) || database.Allow == nil {
		t.Errorf("the team of the database is %+v", database)
	}
	if got := []int{file.Catalogue[0].PerTeam, file.Catalogue[1].PerTeam}; !slices.Equal(got, []int{teams.DefaultPerTeam, 3}) {
		t.Errorf("a team may have %v orders", got)
	}
	for _, team := range all {
		if len(team.GoogleAccountID()) > 30 || len(validation.IsDNS1123Label(team.Namespace())) > 0 {
			t.Errorf("team %s has the Google account %s and the namespace %s", team.Name, team.GoogleAccountID(), team.Namespace())
		}
	}
}

func TestAnOfferMayDeclareWhatStratasEntryNeedsUnlessTheFileSaysOtherwise(t *testing.T) {
	for name, test := range map[string]struct {
		offer teams.Offer
		want  []string
	}{
		"a database":                  {teams.Offer{Name: "database"}, teams.DefaultAllow()},
		"a bucket":                    {teams.Offer{Name: "bucket"}, []string{"gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"}},
		"a bucket with types of ours": {teams.Offer{Name: "bucket", Allow: []string{"random:*"}}, []string{"random:*"}},
		"an entry of ours":            {teams.Offer{Name: "queue"}, teams.DefaultAllow()},
	} {
		if got := test.offer.Team().Allow; !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestACatalogueIsRefusedWhere(t *testing.T) {
	for name, test := range map[string]struct{ give, want string }{
		"an entry has no name":            {"catalogue: [{}]", `catalogue[0].name "" must be lower-case letters and digits`},
		"a name has a hyphen":             {"catalogue: [{name: a-b}]", `catalogue[0].name "a-b" must be`},
		"a name is too long":              {"catalogue: [{name: abcdefghijklmnop}]", "has 16 characters: at most 15"},
		"an entry is there twice":         {"catalogue: [{name: a}, {name: a}]", `catalogue[1].name "a" is taken by catalogue[0]`},
		"the number of orders is nothing": {"catalogue: [{name: a, perTeam: -1}]", "catalogue[0].perTeam is -1"},
		"a type is no type":               {"catalogue: [{name: a, allow: [vm]}]", `catalogue[0].allow[0] "vm" is neither`},
		"a team has the name of an entry": {"catalogue: [{name: database}]\nteams: [{name: catalogue-database}]", `teams[0].name "catalogue-database" is reserved`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := teams.Decode([]byte(header + test.give + "\n")); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestAddAndRemoveKeepTheCatalogue(t *testing.T) {
	const content = header + "teams:\n  - name: web\ncatalogue:\n  - name: database # MySQL\n"
	added, err := teams.Add([]byte(content), teams.Team{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if want := header + "teams:\n  - name: web\n  - name: shop\ncatalogue:\n  - name: database # MySQL\n"; string(added) != want {
		t.Errorf("the file is\n%s\nwant\n%s", added, want)
	}
	if back, err := teams.Remove(added, "shop"); err != nil || string(back) != content {
		t.Errorf("error %v, the file is\n%s", err, back)
	}
}

func TestMayDeclare(t *testing.T) {
	for pattern, want := range map[string]bool{
		"gcp:*": true, "gcp:sql/*": true, "gcp:sql:*": true, "gcp:sql/user:User": true, "gcp:sql:User": true,
		"gcp:sqlx/*": false, "gcp:storage/*": false, "random:*": false, "gcpx:sql/*": false,
	} {
		if got := (teams.Team{Allow: []string{"random:*", pattern}}).MayDeclare("gcp", "sql"); got != want {
			t.Errorf("with %s, a team may declare a type of gcp:sql: %v, want %v", pattern, got, want)
		}
	}
}
