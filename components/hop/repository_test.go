package hop_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
)

func TestTheRepositoryIsTheGivenOne(t *testing.T) {
	keys := map[string]string{"publisher-0.asc": "the key of Anna"}
	demanded := func(mode string) map[string]any {
		return map[string]any{"mode": mode, "secretRef": map[string]any{"name": hop.PublisherSecret}}
	}
	for name, test := range map[string]struct {
		edit   func(*hop.Source)
		want   map[string]any // of the spec
		policy any
	}{
		"a branch": {func(*hop.Source) {}, map[string]any{"ref": map[string]any{"branch": "main"}}, nil},
		"signed commits of a branch": {
			func(s *hop.Source) { s.Verify = &hop.Verification{Mode: fluxcd.VerifyCommit, Keys: keys} },
			map[string]any{"ref": map[string]any{"branch": "main"}, "verify": demanded("HEAD")}, "HEAD",
		},
		"a branch with submodules": {
			func(s *hop.Source) { s.RecurseSubmodules = true },
			map[string]any{"ref": map[string]any{"branch": "main"}, "recurseSubmodules": true}, nil,
		},
		"signed tags": {
			func(s *hop.Source) {
				s.Branch, s.Versions = pulumi.String(""), pulumi.String("1.x")
				s.Verify = &hop.Verification{Mode: fluxcd.VerifyTagAndCommit, Keys: keys}
			},
			map[string]any{"ref": map[string]any{"semver": "1.x"}, "verify": demanded("TagAndHEAD")}, "TagAndHEAD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine, args := newEngine(), given()
			test.edit(&args.Source)
			if err := run(engine, args); err != nil {
				t.Fatal(err)
			}
			spec := plain(t, engine.Get(t, sourceType, "web-source-repository"), "spec").(map[string]any)
			for _, field := range []string{"ref", "verify", "recurseSubmodules"} {
				if !reflect.DeepEqual(spec[field], test.want[field]) {
					t.Errorf("spec.%s is %v, want %v", field, spec[field], test.want[field])
				}
			}
			if got := plain(t, engine.Get(t, policyType, "web-policy"), "spec").(map[string]any)["verify"]; got != test.policy {
				t.Errorf("the TenantPolicy demands %v, want %v", got, test.policy)
			}
			if test.policy == nil {
				return
			}
			secret := engine.Get(t, secretType, "web-publisher")
			want := map[string]any{"publisher-0.asc": base64.StdEncoding.EncodeToString([]byte("the key of Anna"))}
			// A key in stringData would stay trusted after its removal.
			if got := plain(t, secret, "data"); !reflect.DeepEqual(got, want) || secret.Inputs["stringData"].IsObject() {
				t.Errorf("the keys are %v, want %v and no stringData", got, want)
			}
			if got := plain(t, secret, "metadata.labels").(map[string]any)[hop.Label]; got != "web" {
				t.Errorf("the label that protects the keys is %v", got)
			}
		})
	}
}

func TestInvalidRepositoriesAreRejected(t *testing.T) {
	signed := func(mode string) *hop.Verification {
		return &hop.Verification{Mode: mode, Keys: map[string]string{"a.asc": "key"}}
	}
	for name, test := range map[string]struct {
		edit func(*hop.Source)
		want string
	}{
		"neither branch nor versions": {func(s *hop.Source) { s.Branch = nil }, "either the source's branch or its versions must be given"},
		"both":                        {func(s *hop.Source) { s.Versions = pulumi.String("1.x") }, "either the source's branch or its versions must be given"},
		"submodules of versions": {
			func(s *hop.Source) { s.Branch, s.Versions, s.RecurseSubmodules = nil, pulumi.String("1.x"), true }, "the source's submodules need a branch",
		},
		"tags of a branch": {func(s *hop.Source) { s.Verify = signed("Tag") }, "mode of verification Tag does not fit"},
		"commits of a tag": {func(s *hop.Source) { s.Branch, s.Versions, s.Verify = nil, pulumi.String("1.x"), signed("HEAD") }, "mode of verification HEAD does not fit"},
		"no key":           {func(s *hop.Source) { s.Verify = &hop.Verification{Mode: "HEAD"} }, "the source's keys must be given"},
		"a key of artifacts": {
			func(s *hop.Source) {
				s.Verify = &hop.Verification{Mode: "HEAD", Keys: map[string]string{"a.pub": "key"}}
			}, `the name "a.pub" of a source's key does not end in .asc or .sshpub`,
		},
		"of an artifact": {func(s *hop.Source) { s.Verify, s.Artifact = signed("HEAD"), &hop.Artifact{} }, "the source has an artifact"},
	} {
		t.Run(name, func(t *testing.T) {
			args := given()
			test.edit(&args.Source)
			if err := run(newEngine(), args); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error does not say %q: %v", test.want, err)
			}
		})
	}
}
