package origins

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// BucketLogins are the logins at the buckets of teams, by the team's name.
type BucketLogins map[string]BucketLogin

// BucketLogin is a login that reads a bucket.
type BucketLogin struct {
	// AccessKey and SecretKey are for teams.BucketGeneric.
	AccessKey string         `json:"accessKey,omitempty"`
	SecretKey handoff.Secret `json:"secretKey,omitempty"`
	// GoogleCredentials is the JSON key of a service account, for teams.BucketGCP.
	GoogleCredentials handoff.Secret `json:"googleCredentials,omitempty"`
}

// Problems returns the problems of the logins.
func (b BucketLogins) Problems() []string {
	var problems []string
	for _, team := range slices.Sorted(maps.Keys(b)) {
		login := b[team]
		if (login.AccessKey == "") != (login.SecretKey == "") || (login.SecretKey == "") == (login.GoogleCredentials == "") {
			problems = append(problems, fmt.Sprintf("bucketCredentials.%s needs either accessKey and secretKey, or googleCredentials", team))
		}
	}
	return problems
}

// Of returns the bucket of a team, or nil if Flux applies something else. Without a login, the bucket must be public, or readable for
// source-controller's own Google identity.
func (b BucketLogins) Of(team teams.Team) (*fluxcd.Bucket, error) {
	if !team.Objects() {
		return nil, nil
	}
	made := &fluxcd.Bucket{
		Name: pulumi.String(team.Bucket.Name), Endpoint: pulumi.String(team.Bucket.Endpoint), Provider: team.Bucket.Provider,
		Region: pulumi.String(team.Bucket.Region), Prefix: pulumi.String(team.Bucket.Prefix),
	}
	login, private := b[team.Name]
	switch {
	case !private:
	case (team.Bucket.Provider == teams.BucketGCP) != (login.GoogleCredentials != ""):
		return nil, fmt.Errorf("bucketCredentials.%s does not fit the team's bucket with provider %s: %s needs googleCredentials, %s needs accessKey and secretKey",
			team.Name, team.Bucket.Provider, teams.BucketGCP, teams.BucketGeneric)
	case login.GoogleCredentials != "":
		made.GoogleCredentials = login.GoogleCredentials.Input()
	default:
		made.AccessKey, made.SecretKey = pulumi.String(login.AccessKey), login.SecretKey.Input()
	}
	return made, nil
}
