package supervisor

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestOnlyThePlatformsOwnAccountsGetProcesses(t *testing.T) {
	tools, err := toolchain.Open(toolchaintest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string][2]string{
		"ghcr.io/fluxcd/source-controller":       {"flux-system", "source-controller"},
		"ghcr.io/fluxcd/kustomize-controller":    {"flux-system", "kustomize-controller"},
		"ghcr.io/fluxcd/helm-controller":         {"flux-system", "helm-controller"},
		"ghcr.io/fluxcd/notification-controller": {"flux-system", "notification-controller"},
		OperatorImage:                            {"pulumi-kubernetes-operator", "pulumi-operator"},
	}
	images := processCatalogue(h, tools, "http://127.0.0.1:4711", "http://127.0.0.1:4712", "http://127.0.0.1:4713", "strata", "v0.0.0")
	if len(images) != len(allowed) {
		t.Errorf("the catalogue has %d images, the test knows %d", len(images), len(allowed))
	}
	for _, image := range images {
		account := allowed[image.Repository]
		if !image.May(account[0], account[1]) {
			t.Errorf("%s does not run for %s", image.Repository, account)
		}
		for _, other := range [][2]string{{"team-web", "web"}, {"team-web", account[1]}, {account[0], "default"}, {"platform", "platform"}} {
			if image.May(other[0], other[1]) {
				t.Errorf("%s runs with the files of the user for %s", image.Repository, other)
			}
		}
		if image.Commands {
			t.Errorf("probes of %s run commands on this machine", image.Repository)
		}
	}
}

func TestTheControlSocketWantsItsSecret(t *testing.T) {
	stopped := false
	s := &supervisor{stop: func() { stopped = true }}
	handler := s.control("right")
	for secret, want := range map[string]int{"": http.StatusForbidden, "Bearer wrong": http.StatusForbidden, "Bearer right": http.StatusOK} {
		stopped = false
		request := httptest.NewRequest(http.MethodPost, "/stop", nil)
		request.Header.Set("Authorization", secret)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != want || stopped != (want == http.StatusOK) {
			t.Errorf("%q gets %d, stopped is %v", secret, answer.Code, stopped)
		}
	}
}
