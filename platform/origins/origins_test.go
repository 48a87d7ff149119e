package origins_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/platform/origins"
)

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2Z5AFsJ0SgCJFmDfDbXmGvLyz4VHvwZr7N1S1Wf6bX"

func TestPublishersAreKeysThatVerifyCommits(t *testing.T) {
	for name, test := range map[string]struct {
		publishers origins.Publishers
		problem    string
	}{
		"none":            {nil, ""},
		"a key":           {origins.Publishers{key}, ""},
		"text":            {origins.Publishers{key, "Anna"}, "platformPublishers[1] is neither a public key of OpenPGP"},
		"a key of cosign": {origins.Publishers{"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n"}, "platformPublishers[0] is neither"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(test.publishers.Problems("platformPublishers"), "; ")
			if !strings.Contains(problems, test.problem) || (problems == "") != (test.problem == "") {
				t.Errorf("the problems are %q, want %q", problems, test.problem)
			}
			if verification := test.publishers.Hop(); (verification == nil) != (len(test.publishers) == 0) {
				t.Errorf("the verification is %v", verification)
			}
		})
	}
	if hop := (origins.Publishers{key}).Hop(); hop.Mode != "HEAD" || hop.Keys["publisher-0.sshpub"] != key {
		t.Errorf("the verification is %v", hop)
	}
}
