package rehearsal

import (
	"maps"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/origins"
)

// placed returns the settings of layer 2 with the places of the home, and maps the former places to them.
func (r *run) placed(mine platform.Config) (platform.Config, error) {
	former := r.google.second
	made := former
	made.BootstrapStack, made.TeamsFile = mine.BootstrapStack, mine.TeamsFile
	made.FleetURL, made.PlatformURL, made.TeamURL = mine.FleetURL, mine.PlatformURL, mine.TeamURL
	made.StrataFile, made.StrataURL = mine.StrataFile, mine.StrataURL
	formerStrata := former.StrataURL
	if mine.StrataFile != "" && formerStrata == "" {
		pinned, err := r.platform.Repository.Pins()
		if err != nil {
			return made, err
		}
		formerStrata = pinned.Sync.URL
	}
	for _, each := range [][2]string{
		{former.FleetURL, made.FleetURL}, {former.PlatformURL, made.PlatformURL}, {formerStrata, made.StrataURL}, {former.TeamURL, made.TeamURL},
	} {
		r.words.Add(each[0], each[1])
		r.mapPortOf(each[0], each[1])
	}
	for _, login := range []struct {
		user     string
		password *handoff.Secret
		mine     handoff.Secret
	}{
		{former.GitUsername, &made.GitPassword, mine.GitPassword}, {former.FleetUsername, &made.FleetPassword, mine.FleetPassword},
		{former.PlatformUsername, &made.PlatformPassword, mine.PlatformPassword}, {former.StrataUsername, &made.StrataPassword, mine.StrataPassword},
	} {
		r.replace(login.user, login.password, login.mine)
	}
	if former.OperatorImage != "" {
		_, digest, _ := strings.Cut(former.OperatorImage, "@")
		made.OperatorImage = supervisor.OperatorImage + ":" + r.result.Strata + "@" + digest
		r.words.Add(former.OperatorImage, made.OperatorImage)
	}
	list, err := r.platform.Teams()
	if err != nil {
		return made, err
	}
	made.TeamCredentials = r.logins(former.TeamCredentials, mine.TeamCredentials)
	for _, team := range list {
		at := func(url string) string { return strings.ReplaceAll(url, platform.TeamPlaceholder, team.Name) }
		r.words.Add(at(former.TeamURL), at(made.TeamURL))
		r.words.Add(at(former.ArtifactURL), at(mine.ArtifactURL))
	}
	r.placeArtifacts(&made, former, mine)
	r.hideTokens(&made)
	return made, nil
}

// replace replaces a password by the one of the home, and keeps an empty one. The name of the user stays, and is no secret.
func (r *run) replace(user string, password *handoff.Secret, mine handoff.Secret) {
	if *password == "" {
		return
	}
	r.words.PublishTexts(user)
	r.words.Add(string(*password), string(mine))
	*password = mine
}

// logins replaces the passwords of teams.
func (r *run) logins(former, mine map[string]platform.Credentials) map[string]platform.Credentials {
	made := maps.Clone(former)
	for team, login := range made {
		own := mine[team].Password
		if own == "" { // The clone has no such team.
			own = r.hidden(login.Password)
		}
		r.replace(login.Username, &login.Password, own)
		made[team] = login
	}
	return made
}

// placeArtifacts gives the settings the registry of the home and the keys that sign there.
func (r *run) placeArtifacts(made *platform.Config, former, mine platform.Config) {
	if made.PlatformURL != former.PlatformURL && r.source() == home.OCISource {
		made.PlatformPublishers, made.ArtifactInsecure = mine.PlatformPublishers, mine.ArtifactInsecure
	}
	if former.ArtifactURL == "" {
		return
	}
	made.ArtifactURL, made.ArtifactInsecure = mine.ArtifactURL, mine.ArtifactInsecure
	made.ArtifactKeys = maps.Clone(former.ArtifactKeys)
	for team, key := range mine.ArtifactKeys {
		if former.ArtifactKeys[team] != "" {
			r.words.Add(former.ArtifactKeys[team], key)
			made.ArtifactKeys[team] = key
		}
	}
	made.ArtifactCredentials = r.logins(former.ArtifactCredentials, mine.ArtifactCredentials)
}

// hideTokens replaces the secrets for services outside of the copy by placeholders.
func (r *run) hideTokens(made *platform.Config) {
	made.NotifyTokens = maps.Clone(made.NotifyTokens)
	for team, token := range made.NotifyTokens {
		made.NotifyTokens[team] = r.hidden(token)
	}
	buckets := origins.BucketLogins{}
	for team, login := range made.BucketCredentials {
		r.words.PublishTexts(login.AccessKey)
		login.SecretKey, login.GoogleCredentials = r.hidden(login.SecretKey), r.hidden(login.GoogleCredentials)
		buckets[team] = login
	}
	made.BucketCredentials = buckets
}

// hidden returns what the states of the copy have in the place of a secret.
func (r *run) hidden(secret handoff.Secret) handoff.Secret {
	hidden := r.words.Map(resource.PropertyMap{"": resource.MakeSecret(resource.NewProperty(string(secret)))})[""]
	return handoff.Secret(hidden.SecretValue().Element.StringValue())
}
