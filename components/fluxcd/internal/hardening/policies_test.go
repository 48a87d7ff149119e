package hardening

import (
	"strings"
	"testing"
)

const example = `apiVersion: v1
kind: Config
current-context: strata
clusters: [{name: strata, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: admin, user: {token: canary}}]
contexts: [{name: strata, context: {cluster: strata, user: admin}}]
`

func TestTheAddressOfTheAPIServer(t *testing.T) {
	named := strings.Replace(example, "127.0.0.1:6443", "gke.example.com", 1)
	if got, err := apiEndpoint(named, true); err != nil || got != (endpoint{nowhere, 443}) {
		t.Errorf("with private ranges: %v, %v", got, err)
	}
	if _, err := apiEndpoint(named, false); err == nil || !strings.Contains(err.Error(), "add the range of its address to PrivateRanges") {
		t.Errorf("without private ranges: %v", err)
	}
	if got, err := apiEndpoint(strings.Replace(example, "127.0.0.1", "[2001:db8::1]", 1), false); err != nil || got != (endpoint{"2001:db8::1/128", 6443}) {
		t.Errorf("by IPv6: %v, %v", got, err)
	}
}
