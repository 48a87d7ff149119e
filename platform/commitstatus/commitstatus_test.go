package commitstatus_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform/commitstatus"
	"github.com/strata-platform/strata/platform/origins"
	"github.com/strata-platform/strata/teams"
)

func given() (commitstatus.Settings, []teams.Team) {
	return commitstatus.Settings{
		Tokens: map[string]handoff.Secret{"web": "canary-forge"}, TeamURL: "https://git.example.com/example/{team}", TeamsFile: "teams.yaml",
		Readable: map[string]origins.Credentials{"web": {Username: "web", Password: "canary-reader"}}, Notifies: true, Plans: true,
	}, []teams.Team{{Name: "web", Notify: &teams.Notify{Provider: teams.NotifyGitHub}}, {Name: "shop"}}
}

func TestSettingsThatDoNotFitTeamsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*commitstatus.Settings, []teams.Team)
		says   string
	}{
		"all fits":             {func(*commitstatus.Settings, []teams.Team) {}, ""},
		"upstream's operator":  {func(s *commitstatus.Settings, _ []teams.Team) { s.Plans = false }, "upstream's operator has no Plans"},
		"no controller":        {func(s *commitstatus.Settings, _ []teams.Team) { s.Notifies = false }, "fluxComponents does not contain notification-controller"},
		"a repository by HTTP": {func(s *commitstatus.Settings, _ []teams.Team) { s.TeamURL = "http://127.0.0.1:1/{team}.git" }, "set notify.repository"},
		"another proxy":        {func(s *commitstatus.Settings, _ []teams.Team) { s.Proxy = "socks5h://127.0.0.1:1" }, "must begin with http://, https:// or socks5://"},
		"no token":             {func(s *commitstatus.Settings, _ []teams.Team) { s.Tokens = nil }, "notifyTokens has no token of the team"},
		"a token of nobody":    {func(s *commitstatus.Settings, _ []teams.Team) { s.Tokens["ghost"] = "canary-b" }, "names team ghost, which has no notify"},
		"a token of another":   {func(s *commitstatus.Settings, _ []teams.Team) { s.Tokens["shop"] = "canary-b" }, "names team shop, which has no notify"},
		"a token for the team": {func(s *commitstatus.Settings, _ []teams.Team) { s.Tokens["web"] = "canary-reader" }, "the team could read it"},
		"a repository by itself": {func(s *commitstatus.Settings, list []teams.Team) {
			s.TeamURL, list[0].Notify.Repository = "http://127.0.0.1:1/{team}.git", "https://github.com/example/web"
		}, ""},
	} {
		settings, list := given()
		test.change(&settings, list)
		err := settings.Check(list)
		if test.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error is %v, want %q", name, err, test.says)
		}
	}
}

func TestTeamsOfOneRepositoryHaveStatusesOfTheirOwn(t *testing.T) {
	settings, list := given()
	list[1].Notify = &teams.Notify{Provider: teams.NotifyGitHub, Repository: "https://git.example.com/example/web"}
	web, shop, prod := settings.Of(list[0], "dev"), settings.Of(list[1], "dev"), settings.Of(list[0], "prod")
	if web.Status != "strata/plan/dev/web" || shop.Status != "strata/plan/dev/shop" || prod.Status != "strata/plan/prod/web" {
		t.Errorf("the statuses are %q, %q and %q", web.Status, shop.Status, prod.Status)
	}
	if same := pulumi.String("https://git.example.com/example/web"); web.Repository != same || shop.Repository != same {
		t.Errorf("the repositories are %v and %v", web.Repository, shop.Repository)
	}
	if settings.Of(teams.Team{Name: "quiet"}, "dev") != nil || !commitstatus.Any(list) || commitstatus.Any(nil) {
		t.Error("a team without notify notifies")
	}
}
