package origins_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/platform/origins"
)

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2Z5AFsJ0SgCJFmDfDbXmGvLyz4VHvwZr7N1S1Wf6bX"

// pemKey is a public key that signs artifacts.
const pemKey = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEXRA3AuwLMT2Y1EbKYZi8C5ulUCmH\noVv6rOqgpwBPRDUE/vXw9J2flGrbN6BXi5vKd6IS+x+XNWWRNvUf9EyNcg==\n-----END PUBLIC KEY-----\n"

func TestThePlatformIsAGitRepositoryOrSignedArtifacts(t *testing.T) {
	const git, oci = "https://git.example.com/platform.git", "oci://registry.example.com:5000/platform/sync"
	for name, test := range map[string]struct {
		platform origins.Platform
		problem  string
	}{
		"a repository":                         {origins.Platform{URL: git}, ""},
		"a repository with a publisher":        {origins.Platform{URL: git, Publishers: origins.Publishers{key}}, ""},
		"a publisher without a key":            {origins.Platform{URL: git, Publishers: origins.Publishers{key, "Anna"}}, "platformPublishers[1] is neither a public key of OpenPGP"},
		"a repository with a key of artifacts": {origins.Platform{URL: git, Publishers: origins.Publishers{pemKey}}, "platformPublishers[0] is neither"},
		"a repository with versions":           {origins.Platform{URL: git, Versions: "1.x"}, "platformVersions is for artifacts"},
		"artifacts":                            {origins.Platform{URL: oci, Publishers: origins.Publishers{pemKey}, Versions: "1.x"}, ""},
		"artifacts that nobody signs":          {origins.Platform{URL: oci}, "platformPublishers must contain the public key"},
		"artifacts with a key of commits":      {origins.Platform{URL: oci, Publishers: origins.Publishers{key}}, "platformPublishers[0] is not a public key in PEM"},
		"artifacts of a tag":                   {origins.Platform{URL: oci + ":latest", Publishers: origins.Publishers{pemKey}}, "platformUrl is not the address of a repository without a tag"},
		"artifacts of a digest":                {origins.Platform{URL: oci + "@sha256:00", Publishers: origins.Publishers{pemKey}}, "platformUrl is not the address of a repository without a tag"},
		"artifacts in a range that is none":    {origins.Platform{URL: oci, Publishers: origins.Publishers{pemKey}, Versions: "new"}, `platformVersions "new" is not a range`},
	} {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(test.platform.Problems(), "; ")
			if !strings.Contains(problems, test.problem) || (problems == "") != (test.problem == "") {
				t.Errorf("the problems are %q, want %q", problems, test.problem)
			}
		})
	}
}

func TestAHopFromThePlatformDemandsItsSignatures(t *testing.T) {
	var source hop.Source
	origins.Platform{URL: "https://git.example.com/platform.git"}.Fill(&source)
	if source.Verify != nil || source.Artifact != nil {
		t.Errorf("a repository without publishers has the verification %v and the artifact %v", source.Verify, source.Artifact)
	}
	origins.Platform{URL: "https://git.example.com/platform.git", Publishers: origins.Publishers{key}}.Fill(&source)
	if verify := source.Verify; verify == nil || verify.Mode != "HEAD" || verify.Keys["publisher-0.sshpub"] != key {
		t.Errorf("the verification is %v", verify)
	}
	source = hop.Source{}
	origins.Platform{URL: "oci://registry.example.com/platform/sync", Publishers: origins.Publishers{pemKey}}.Fill(&source)
	if source.Verify != nil || source.Artifact == nil || source.Artifact.Keys["publisher-0.pub"] != pemKey {
		t.Errorf("the source is %+v", source)
	}
}
