// Package auditsite tells an audit how to reach the parts of a local platform, and gives it the credentials of the identities.
package auditsite

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/internal/teamlogin"
	"github.com/strata-platform/strata/teams"
)

// Names of layer 1's cluster and database instance.
const (
	clusterName  = "strata"
	instanceName = "strata"
)

// keyOwner is the owner of the key that signs reports, in the name of its file.
const keyOwner = "audit"

// New returns the parts of a running platform. config is the administrator's client configuration, engineer the name of the identity
// that runs layer 1, and list the owners of namespaces.
func New(h home.Home, running supervisor.Status, config *rest.Config, engineer string, list []teams.Team) (*audit.Site, error) {
	secret, err := h.Secret(supervisor.GitSecret)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	cloud, err := tunnel(h, running.GoogleURL)
	if err != nil {
		return nil, err
	}
	repositories, err := filepath.Glob(filepath.Join(h.Git(), "*.git"))
	if err != nil {
		return nil, err
	}
	for i, path := range repositories {
		repositories[i] = strings.TrimSuffix(filepath.Base(path), ".git")
	}
	password := func(login string) string { return gitserver.Password(secret, login) }
	site := &audit.Site{
		Target: "local", Config: config, Upstream: h.Operator() == home.UpstreamOperator, Tenants: list,
		Google: &audit.Google{
			Project: home.Project, Engineer: engineer,
			Cluster:  "projects/" + home.Project + "/locations/" + home.Region + "/clusters/" + clusterName,
			Instance: "projects/" + home.Project + "/instances/" + instanceName,
			Endpoint: endpoint(running.GoogleURL),
			Token:    tokens{h, engineer, teamlogin.Teams{Client: client, Tenants: list, Google: cloud}}.token,
		},
		Git:      &audit.GitServer{URL: running.GitURL, Repositories: repositories, Password: password, Engineer: gitserver.Engineer, Reader: gitserver.Reader},
		Machine:  machine(h, running),
		Versions: map[string]string{"supervisor": running.Version},
		Key:      func() (*signing.Key, error) { return layerconfig.Key(h, keyOwner) },
	}
	if port := running.Ports[supervisor.RegistryPort]; port != 0 {
		site.Registry = &audit.ImageRegistry{URL: fmt.Sprintf("http://127.0.0.1:%d", port), Password: password}
	} else {
		site.Unknown = map[audit.Area]string{audit.Registry: "the home has no registry"}
	}
	return site, nil
}

// endpoint returns the function that returns the base URLs of the emulated APIs.
func endpoint(base string) func(string) string {
	return func(api string) string {
		service, path := audit.SplitAPI(api)
		return strings.TrimSuffix(base, "/") + "/" + service + "/" + path
	}
}

// machine returns the files and servers of the home.
func machine(h home.Home, running supervisor.Status) *audit.Machine {
	address := func(name string) string { return fmt.Sprintf("127.0.0.1:%d", running.Ports[name]) }
	m := &audit.Machine{
		Folders: map[string]string{
			"the home": h.Dir(), "the credentials": filepath.Dir(h.EngineerCredentials()), "the engineer's credential": h.EngineerCredentials(),
			"the administrator's kubeconfig": h.AdminKubeconfig(), "the states of the layers": h.LayerState(),
			"the repositories": h.Git(), "the records of the emulated Google Cloud": h.Google(), "the logs": h.Logs(),
			"the ledger": h.Ledger(), "the records of runs": h.RunRecords(),
		},
		Sockets: map[string]string{"the supervisor": h.Socket()},
		Ports:   map[string]string{},
		Secure:  map[string]string{"etcd": "https://" + address("etcd") + "/v3/kv/range"},
	}
	states, err := os.ReadDir(h.TenantStates())
	if err == nil {
		for _, state := range states {
			m.Folders["the state of "+state.Name()] = h.TenantState(state.Name())
		}
	}
	// The names of the ports of Flux's Services, as the node reserves them.
	const service = "service/"
	for _, name := range slices.Sorted(maps.Keys(running.Ports)) {
		if port, is := strings.CutPrefix(name, service); is {
			m.Ports[port] = address(name)
		}
	}
	return m
}
