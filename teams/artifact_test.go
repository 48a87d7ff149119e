package teams_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/teams"
)

func TestArtifactsOfATeam(t *testing.T) {
	for name, test := range map[string]struct{ fields, says string }{
		"git":                           {"  source: git\n", ""},
		"artifacts":                     {"  source: oci\n", ""},
		"artifacts of a range":          {"  source: oci\n  versions: 1.x\n", ""},
		"another kind":                  {"  source: svn\n", `.source "svn" must be git, oci or bucket`},
		"a mode of verification":        {"  source: oci\n  verify: HEAD\n", "has verify or recurseSubmodules, which need source: git"},
		"submodules":                    {"  source: oci\n  recurseSubmodules: true\n", "has verify or recurseSubmodules, which need source: git"},
		"an identity":                   {"  source: oci\n  identity: {issuer: 'https://issuer', subject: 'https://a/b@refs/heads/main'}\n", ""},
		"an identity of commits":        {"  identity: {issuer: 'https://issuer', subject: a}\n", ".identity needs source: oci"},
		"an identity and a key":         {"  source: oci\n  identity: {issuer: 'https://issuer', subject: a}\n  publishers: [key]\n", "has identity and publishers"},
		"half an identity":              {"  source: oci\n  identity: {issuer: 'https://issuer'}\n", `.identity.subject "" is not the text`},
		"an issuer without https":       {"  source: oci\n  identity: {issuer: issuer, subject: a}\n", "does not begin with https://"},
		"a branch of artifacts":         {"  source: oci\n  branch: main\n", ".branch is for source: git"},
		"no range":                      {"  source: oci\n  versions: newest\n", `.versions "newest" is not a range of versions`},
		"no key":                        {"  source: oci\n  publishers: [key]\n", ".publishers[0] is not a public key in PEM"},
		"a private key":                 {"  source: oci\n  publishers: [\"-----BEGIN PRIVATE KEY-----\\nAA==\\n-----END PRIVATE KEY-----\\n\"]\n", "is not a public key in PEM"},
		"a key that is no point at all": {"  source: oci\n  publishers: [\"-----BEGIN PUBLIC KEY-----\\nAA==\\n-----END PUBLIC KEY-----\\n\"]\n", "is not a public key in PEM"},
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
			if team := file.Teams[0]; team.Artifacts() != strings.Contains(test.fields, "oci") || team.Artifacts() == (team.Versions == "") {
				t.Errorf("the team is %+v", team)
			}
		})
	}
}
