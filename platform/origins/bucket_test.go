package origins_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/platform/origins"
	"github.com/strata-platform/strata/teams"
)

func TestTheLoginFitsTheBucket(t *testing.T) {
	key, google := origins.BucketLogin{AccessKey: "a", SecretKey: "canary"}, origins.BucketLogin{GoogleCredentials: "canary"}
	for name, test := range map[string]struct {
		provider string
		logins   origins.BucketLogins
		says     string
	}{
		"no login":                    {teams.BucketGCP, nil, ""},
		"of Google":                   {teams.BucketGCP, origins.BucketLogins{"web": google}, ""},
		"of S3":                       {teams.BucketGeneric, origins.BucketLogins{"web": key}, ""},
		"of S3 for Google":            {teams.BucketGCP, origins.BucketLogins{"web": key}, "bucketCredentials.web does not fit"},
		"of Google for S3":            {teams.BucketGeneric, origins.BucketLogins{"web": google}, "bucketCredentials.web does not fit"},
		"of both":                     {teams.BucketGCP, origins.BucketLogins{"web": {AccessKey: "a", SecretKey: "canary", GoogleCredentials: "canary"}}, "bucketCredentials.web needs either"},
		"half a login":                {teams.BucketGeneric, origins.BucketLogins{"web": {AccessKey: "a"}}, "bucketCredentials.web needs either"},
		"nothing in place of a login": {teams.BucketGeneric, origins.BucketLogins{"web": {}}, "bucketCredentials.web needs either"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(test.logins.Problems(), "; ")
			made, err := test.logins.Of(teams.Team{Name: "web", Source: teams.SourceBucket, Bucket: &teams.Bucket{Name: "deploy", Provider: test.provider}})
			if err != nil {
				problems += err.Error()
			}
			if (problems == "") != (test.says == "") || !strings.Contains(problems, test.says) || strings.Contains(problems, "canary") {
				t.Errorf("the problems are %q, want %q", problems, test.says)
			}
			if problems == "" && (made.GoogleCredentials == nil && made.SecretKey == nil) != (test.logins == nil) {
				t.Errorf("the bucket is %+v", made)
			}
		})
	}
	if made, err := (origins.BucketLogins{"web": key}).Of(teams.Team{Name: "web"}); made != nil || err != nil {
		t.Errorf("a team without a bucket gets %v, %v", made, err)
	}
}

func TestAnIdentityReplacesTheKeys(t *testing.T) {
	artifacts := origins.Artifacts{
		URL: "oci://registry.example.com/{team}", Keys: map[string]string{"web": pemKey}, TrustedRoot: "{}",
	}
	team := teams.Team{Name: "web", Source: teams.SourceOCI, Identity: &teams.Identity{Issuer: "https://issuer", Subject: "me"}}
	made, err := artifacts.Of(team)
	if err != nil || made.Identity == nil || made.Identity.Subject != "me" || made.Identity.TrustedRoot != "{}" || len(made.Keys) > 0 {
		t.Errorf("the artifact is %+v, %v", made, err)
	}
	team.Identity = nil
	if made, err := artifacts.Of(team); err != nil || made.Identity != nil || made.Keys["strata.pub"] != pemKey {
		t.Errorf("the artifact is %+v, %v", made, err)
	}
	artifacts.TrustedRoot = "canary"
	if problems := strings.Join(artifacts.Problems(), "; "); problems != "artifactTrustedRoot is not the content of a trusted_root.json" {
		t.Errorf("the problems are %s", problems)
	}
}
