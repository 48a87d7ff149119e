package complete

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
)

// services returns the completions of Services of a cluster.
func services(t *testing.T, host string) []string {
	t.Helper()
	command := &cobra.Command{}
	command.SetContext(t.Context())
	found, directive := Services(func(context.Context, string) (*rest.Config, []string, error) {
		return &rest.Config{Host: host}, []string{"team-web", "team-shop"}, nil
	})(command, nil, "")
	if directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("the directive is %v", directive)
	}
	return found
}

// TestACompletionDoesNotWaitForADeadCluster has an API server that accepts connections and never answers. Without a bound, the
// completion would last as long as the tests may.
func TestACompletionDoesNotWaitForADeadCluster(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if got := services(t, "http://"+silent.Addr().String()); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// TestAHostileClusterCompletesOnlyHarmlessNames has an API server that does not check names.
func TestAHostileClusterCompletesOnlyHarmlessNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "ServiceList", "apiVersion": "v1", "items": [{"metadata": {"name": "wordpress"}},
{"metadata": {"name": "$(reboot)"}}, {"metadata": {"name": "--raw"}}, {"metadata": {"name": "a\tb"}}, {"metadata": {"name": "a\nb"}}]}`))
	}))
	defer server.Close()
	if got := services(t, server.URL); !slices.Equal(got, []string{"wordpress"}) {
		t.Errorf("got %q", got)
	}
}
