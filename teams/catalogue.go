package teams

import (
	"fmt"
	"slices"

	"github.com/strata-platform/strata/catalogue"
)

const (
	// catalogueTeams begins the names of the platform's own teams: see Offer.Team.
	catalogueTeams = "catalogue-"

	// DefaultPerTeam is the number of orders of one entry that a team may have if the file sets none.
	DefaultPerTeam = 10
)

// Offer is an entry of the catalogue that this platform offers to its teams.
type Offer struct {
	// Name is the name of the entry: of a folder below catalogue/. Required, unique in the file.
	Name string `json:"name"`
	// Allow lists the types of resources that the entry's Program may declare, as Team.Allow does; empty means the types of
	// Strata's own entry of this name, or DefaultAllow.
	Allow []string `json:"allow,omitempty"`
	// PerTeam is the number of orders that each team may have; zero means DefaultPerTeam.
	PerTeam int `json:"perTeam,omitempty"`
	// RunTimeout limits a run for an order, as Team.RunTimeout does.
	RunTimeout string `json:"runTimeout,omitempty"`
}

// entryTypes are the types of resources that the Programs of Strata's own entries declare, where DefaultAllow does not have
// them.
var entryTypes = map[string][]string{
	"bucket": {"gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"},
}

// Team returns the team of the platform that an offer's orders run as. It is a team like others: it has a namespace, a
// Google account, and a backend and a passphrase for the state of its Stacks. Its repository is that of the platform.
func (o Offer) Team() Team {
	team := Team{
		Name: catalogueTeams + o.Name, Path: "./" + catalogue.Folder + "/" + o.Name, Allow: o.Allow, RunTimeout: o.RunTimeout,
		May: []string{MayStacks}, Offer: o.Name,
	}
	if len(team.Allow) == 0 {
		team.Allow = slices.Clone(entryTypes[o.Name])
	}
	team.setDefaults()
	return team
}

// All returns the teams of the file, and after them the team of each offer.
func (f *File) All() []Team {
	all := slices.Clone(f.Teams)
	for _, offer := range f.Catalogue {
		all = append(all, offer.Team())
	}
	return all
}

// offerProblems returns the problems of the list of offers.
func (f *File) offerProblems() []error {
	var problems []error
	first := map[string]int{}
	for i, offer := range f.Catalogue {
		at := fmt.Sprintf("catalogue[%d]", i)
		if problem := catalogue.NameProblem(offer.Name); problem != "" {
			problems = append(problems, fmt.Errorf("%s.name %q %s", at, offer.Name, problem))
		}
		if earlier, found := first[offer.Name]; found {
			problems = append(problems, fmt.Errorf("%s.name %q is taken by catalogue[%d]", at, offer.Name, earlier))
		} else {
			first[offer.Name] = i
		}
		if offer.PerTeam < 0 {
			problems = append(problems, fmt.Errorf("%s.perTeam is %d: it is a number of orders", at, offer.PerTeam))
		}
		problems = append(problems, Team{Allow: offer.Allow, RunTimeout: offer.RunTimeout}.grantProblems(at)...)
	}
	return problems
}
