package teams_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/teams"
)

func TestTheBucketOfATeam(t *testing.T) {
	const generic = "  source: bucket\n  bucket: {name: web-deploy, provider: generic, endpoint: 's3.example.com:9000'}\n"
	for name, test := range map[string]struct{ fields, says string }{
		"Cloud Storage":             {"  source: bucket\n  bucket: {name: web-deploy, prefix: prod/}\n", ""},
		"another service":           {generic, ""},
		"no bucket":                 {"  source: bucket\n", ".bucket is missing"},
		"no source":                 {"  bucket: {name: web-deploy}\n", ".bucket needs source: bucket"},
		"no name":                   {"  source: bucket\n  bucket: {}\n", `.bucket.name "" is not the name`},
		"a path as the name":        {"  source: bucket\n  bucket: {name: ../other}\n", ".bucket.name"},
		"no endpoint":               {"  source: bucket\n  bucket: {name: web-deploy, provider: generic}\n", ".bucket.endpoint"},
		"an endpoint with a scheme": {"  source: bucket\n  bucket: {name: web-deploy, provider: generic, endpoint: 'http://s3'}\n", ".bucket.endpoint"},
		"an endpoint with a login":  {"  source: bucket\n  bucket: {name: web-deploy, provider: generic, endpoint: 'a@s3'}\n", ".bucket.endpoint"},
		"another endpoint of gcp":   {"  source: bucket\n  bucket: {name: web-deploy, endpoint: example.com}\n", "which provider gcp determines"},
		"another cloud":             {"  source: bucket\n  bucket: {name: web-deploy, provider: aws}\n", `.bucket.provider "aws" must be gcp or generic`},
		"HTTP":                      {"  source: bucket\n  bucket: {name: web-deploy, insecure: true}\n", "insecure"},
		"a verification":            {generic + "  verify: HEAD\n", "Flux verifies no signatures of a bucket"},
		"publishers":                {generic + "  publishers: [key]\n", "Flux verifies no signatures of a bucket"},
		"a branch":                  {generic + "  branch: main\n", "which a bucket does not have"},
		"the bucket of another":     {generic + "- name: shop\n" + generic, `.bucket.name "web-deploy" is taken by teams[0]`},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := teams.Decode([]byte(header + "teams:\n- name: web\n" + test.fields))
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("the error is %v, want one line with %q", err, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if team := file.Teams[0]; !team.Objects() || team.Bucket.Endpoint == "" || team.Bucket.Provider == "" {
				t.Errorf("the team is %+v", team)
			}
		})
	}
}
