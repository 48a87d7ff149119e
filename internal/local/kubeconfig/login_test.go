package kubeconfig_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1beta1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/kubeconfig"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
)

// TestTheLoginIsForTheClusterOfItsHome calls the program by its path; test/e2e calls it from Pulumi's plugins.
func TestTheLoginIsForTheClusterOfItsHome(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	called := filepath.Join(h.Tools(), pulumienv.LoginPlugin)
	if err := os.MkdirAll(h.Tools(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(called, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := kubeconfig.Login(called, &out); err == nil || !strings.Contains(err.Error(), "there is no cluster") {
		t.Errorf("without a cluster: %v", err)
	}
	admin := api.NewConfig()
	admin.Clusters["c"] = &api.Cluster{Server: "https://127.0.0.1:4711"}
	admin.AuthInfos["c"] = &api.AuthInfo{ClientCertificateData: []byte("certificate"), ClientKeyData: []byte("key")}
	admin.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "c"}
	admin.CurrentContext = "c"
	if err := os.MkdirAll(filepath.Dir(h.AdminKubeconfig()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*admin, h.AdminKubeconfig()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ info, want string }{
		"its own cluster":     {`{"spec": {"cluster": {"server": "https://127.0.0.1:4711"}}}`, ""},
		"no cluster":          {`{"spec": {}}`, ""},
		"another cluster":     {`{"spec": {"cluster": {"server": "https://203.0.113.7"}}}`, "whose emulated cluster is at https://127.0.0.1:4711"},
		"no description":      {"", "this is no JSON"},
		"a wrong description": {`{"spec": 1}`, "this is no JSON"},
	} {
		t.Setenv("KUBERNETES_EXEC_INFO", c.info)
		out.Reset()
		err := kubeconfig.Login(called, &out)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
				t.Errorf("%s: %v, %s", name, err, out.String())
			}
			continue
		}
		var answer clientauth.ExecCredential
		if err != nil || json.Unmarshal(out.Bytes(), &answer) != nil || answer.Status == nil || answer.Status.ClientKeyData != "key" || answer.Kind != "ExecCredential" {
			t.Errorf("%s: %v, %s", name, err, out.String())
		}
	}
}
