package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/teams"
)

func TestDeniedAccessDiffersFromNoAnswer(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://203.0.113.7/version", Err: err} }
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no login":                  {apierrors.NewUnauthorized("Unauthorized"), "AccessDenied"},
		"no right":                  {apierrors.NewForbidden(schema.GroupResource{}, "version", errors.New("no")), "AccessDenied"},
		"another API's address":     {get(&tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}), "AccessDenied"},
		"no gke-gcloud-auth-plugin": {get(errors.New("getting credentials: exec: executable gke-gcloud-auth-plugin not found")), "AccessDenied"},
		"a connection that is cut":  {get(errors.New("connection reset by peer")), "Unreachable"},
		"an API that starts":        {fmt.Errorf("the server is currently unable to handle the request"), "Unreachable"},
	} {
		if got := Unreachable(test.err); got != test.want {
			t.Errorf("%s: the reason is %s, want %s", name, got, test.want)
		}
	}
}

func TestTheStatusShowsAClusterThatCannotBeRead(t *testing.T) {
	home := status.Item{Layer: status.LayerBootstrap, Kind: "Home", Name: "here", Ready: true}
	running := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster", Name: "strata", Ready: true, Message: "https://203.0.113.7"}
	stopped := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster", Name: "strata", Reason: "NotRunning", Message: "it was stopped"}
	for name, test := range map[string]struct {
		cluster  status.Item
		readable *rest.Config
		look     error
		want     string
	}{
		"it was stopped":         {stopped, nil, errors.New("nobody may look"), "Cluster strata: NotRunning: it was stopped"},
		"it stops during a look": {running, &rest.Config{}, errors.New("connection refused"), "Cluster strata: Unreachable: connection refused: look at the network"},
		"it denies access": {
			running, &rest.Config{}, fmt.Errorf("list pods: %w", apierrors.NewUnauthorized("no login")),
			"Cluster strata: AccessDenied: list pods: no login: look at the network",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTestTarget(t, nil)
			target.below, target.readable = []status.Item{home, test.cluster}, test.readable
			look := func(context.Context, *rest.Config, graph.Scope) (status.Report, error) {
				return status.Report{}, test.look
			}
			report, err := New(target).report(t.Context(), look)
			if err != nil {
				t.Fatal(err)
			}
			cause, _ := report.RootCause()
			if report.Ready || cause.String() != test.want || len(report.Items) != 2 || report.Engineer != "ada" {
				t.Errorf("the root cause is %q, want %q, in %+v", cause, test.want, report)
			}
		})
	}
}

func TestAnInterruptedStatusBlamesNoCluster(t *testing.T) {
	target := newTestTarget(t, nil)
	target.below, target.readable = []status.Item{{Kind: "Cluster", Ready: true}}, &rest.Config{}
	ctx, interrupt := context.WithCancel(t.Context())
	look := func(ctx context.Context, _ *rest.Config, _ graph.Scope) (status.Report, error) {
		interrupt()
		return status.Report{}, ctx.Err()
	}
	if report, err := New(target).report(ctx, look); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, the report %+v", err, report)
	}
}

func TestALookAtTheClusterKnowsTheTarget(t *testing.T) {
	target := newTestTarget(t, nil)
	target.below, target.readable = []status.Item{{Kind: "Cluster", Ready: true}}, &rest.Config{Host: "https://203.0.113.7"}
	var seen graph.Scope
	look := func(_ context.Context, config *rest.Config, scope graph.Scope) (status.Report, error) {
		if config != target.readable {
			t.Errorf("it looks at %s", config.Host)
		}
		seen = scope
		return status.Report{Ready: true}, nil
	}
	if report, err := New(target).report(t.Context(), look); err != nil || !report.Ready {
		t.Fatalf("the report is %+v, %v", report, err)
	}
	if got, want := seen.Command("up")+seen.KubectlCommand("get pods"), "`strata up``kubectl --kubeconfig x get pods`"; got != want {
		t.Errorf("its commands are %s, want %s", got, want)
	}
	seen.Call = nil
	want := graph.Scope{
		Teams: []teams.Team{{Name: "web"}, teams.Offer{Name: "database"}.Team()}, Below: target.below, Engineer: "ada",
		Heads: map[string]string{"team-web/web": "main@sha1:1"}, Kubectl: "kubectl --kubeconfig x",
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("the scope is %+v, want %+v", seen, want)
	}
}
