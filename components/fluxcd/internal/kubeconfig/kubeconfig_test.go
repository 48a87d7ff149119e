package kubeconfig

import (
	"strings"
	"testing"
)

const example = `apiVersion: v1
kind: Config
current-context: strata
clusters: [{name: strata, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: czNjcmV0LWNhbmFyeQ==}}]
contexts: [{name: strata, context: {cluster: strata, user: admin}}]
`

func TestParse(t *testing.T) {
	exec := strings.Replace(example, "client-certificate-data: Y2VydA==, client-key-data: czNjcmV0LWNhbmFyeQ==",
		"exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: gke-gcloud-auth-plugin, args: [a], env: [{name: K, value: V}]}", 1)
	k, err := Parse(exec)
	if err != nil {
		t.Fatal(err)
	}
	if k.Exec == nil || k.Exec.Command != "gke-gcloud-auth-plugin" || k.Exec.Env["K"] != "V" || k.ClientKey != nil {
		t.Errorf("exec is %+v", k.Exec)
	}
	for name, test := range map[string]struct{ text, want string }{
		"no context": {strings.Replace(example, "current-context: strata", "current-context: x", 1), `no context "x"`},
		"no user":    {strings.Replace(example, "user: admin}", "user: x}", 1), `no user "x"`},
		"no cluster": {strings.Replace(example, "cluster: strata,", "cluster: x,", 1), `no cluster "x"`},
		"files":      {strings.Replace(example, "client-key-data: czNjcmV0LWNhbmFyeQ==", "client-key: /k", 1), "refers to files"},
	} {
		if _, err := Parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want %q", name, err, test.want)
		}
	}
}
