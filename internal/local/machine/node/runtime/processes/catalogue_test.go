package processes

import (
	"strings"
	"testing"
)

// anybody allows every pod to run the programs of a test.
func anybody(string, string) bool { return true }

func TestFind(t *testing.T) {
	catalogue := Catalogue{
		{May: anybody, Repository: "ghcr.io/fluxcd/source-controller", Tag: "v1.9.4"},
		{May: anybody, Repository: "localhost:5000/program", Tag: "latest"},
		{May: anybody, Repository: "nginx", Tag: "1.27"},
	}
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for image, want := range map[string]string{
		"ghcr.io/fluxcd/source-controller:v1.9.4":            "ghcr.io/fluxcd/source-controller",
		"ghcr.io/fluxcd/source-controller:v1.9.4" + digest:   "ghcr.io/fluxcd/source-controller",
		"localhost:5000/program":                             "localhost:5000/program",
		"localhost:5000/program:latest":                      "localhost:5000/program",
		"localhost:5000/program" + digest:                    "localhost:5000/program",
		"nginx:1.27":                                         "nginx",
		"docker.io/library/wordpress:6":                      "",
		"ghcr.io/fluxcd/source-controller-extra:v1.9.4":      "",
		"mirror.example.com/fluxcd/source-controller:v1.9.4": "",
		"localhost:5001/program:latest":                      "",
	} {
		t.Run(image, func(t *testing.T) {
			found, err := catalogue.find("ns", "account", image)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" && found != nil || want != "" && (found == nil || found.Repository != want) {
				t.Errorf("found %+v, want %q", found, want)
			}
		})
	}
}

func TestFindRejectsAnotherTagAndNamesTheRightOne(t *testing.T) {
	catalogue := Catalogue{{May: anybody, Repository: "ghcr.io/fluxcd/source-controller", Tag: "v1.9.4"}}
	for _, image := range []string{
		"ghcr.io/fluxcd/source-controller:v1.0.0",
		"ghcr.io/fluxcd/source-controller",
		"ghcr.io/fluxcd/source-controller:v1.0.0@sha256:00",
	} {
		found, err := catalogue.find("ns", "account", image)
		if err == nil {
			t.Errorf("%s is found: %+v", image, found)
			continue
		}
		for _, want := range []string{image, "use the tag v1.9.4"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not say %q: %v", image, want, err)
			}
		}
	}
}

func TestFindGivesAProcessOnlyToItsAccount(t *testing.T) {
	only := func(namespace, serviceAccount string) bool {
		return namespace == "flux-system" && serviceAccount == "source-controller"
	}
	const image = "ghcr.io/fluxcd/source-controller"
	catalogue := Catalogue{{May: only, Repository: image, Tag: "latest"}, {Repository: "forgotten"}}
	for _, tc := range []struct {
		namespace, account, image string
		process                   bool
	}{
		{"flux-system", "source-controller", image, true},
		{"team-web", "source-controller", image, false},
		{"flux-system", "default", image, false},
		{"flux-system", "source-controller", "forgotten", false},
	} {
		found, err := catalogue.find(tc.namespace, tc.account, tc.image)
		if err != nil || (found != nil) != tc.process {
			t.Errorf("%s/%s, image %s: got %v, %v", tc.namespace, tc.account, tc.image, found, err)
		}
	}
}
