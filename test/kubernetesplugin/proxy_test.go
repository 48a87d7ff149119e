package kubernetesplugin_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/clustertest"
)

// A verb is the RBAC verb of a request for ConfigMaps, and "" for other requests.
type verb string

func verbOf(r *http.Request) verb {
	_, name, found := strings.Cut(r.URL.Path, "/configmaps")
	switch {
	case !found:
		return ""
	case r.Method != http.MethodGet:
		return verb(strings.ToLower(r.Method))
	case name != "":
		return "get"
	case r.URL.Query().Get("watch") != "":
		return "watch"
	}
	return "list"
}

// A meddler handles the plugin's requests for ConfigMaps; next is the API server.
type meddler func(w http.ResponseWriter, r *http.Request, v verb, next http.Handler)

// startCluster starts a control plane and waits until it serves its OpenAPI description. The plugin requests the
// description first, and a busy machine needs longer for the first response than the plugin waits.
func startCluster(t *testing.T) *clustertest.Cluster {
	t.Helper()
	cluster := clustertest.Start(t)
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(cluster.Kubeconfig(t, "127.0.0.1")))
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout = 5 * time.Minute
	discovering, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := discovering.RESTClient().Get().AbsPath("/openapi/v2").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// proxy starts an HTTP server between the plugin and a cluster, which connects to the cluster as the administrator. It
// returns a kubeconfig for the server.
func proxy(t *testing.T, cluster *clustertest.Cluster, meddle meddler) string {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(cluster.Kubeconfig(t, "127.0.0.1")))
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	next := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // A watch's events are forwarded immediately.
	}
	if next.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := verbOf(r); v != "" {
			meddle(w, r, v, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return kubeconfig(t, server.URL)
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	const name = "test"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server}
	config.Contexts[name] = &api.Context{Cluster: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
