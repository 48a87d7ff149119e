package userfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

var web = Context{Name: "strata-web", Server: "https://127.0.0.1:1", Namespace: "team-web", Token: "t0ken", Authority: []byte("PEM")}

// files are kubeconfigs as users have them.
var files = map[string]string{
	"a missing file":    "",
	"an empty config":   "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n",
	"nulls":             "apiVersion: v1\nclusters: null\ncontexts:\nkind: Config\nusers: null",
	"kubectl's own":     "apiVersion: v1\nclusters:\n- cluster:\n    server: https://a\n  name: a\ncontexts:\n- context:\n    cluster: a\n    user: a\n  name: a\ncurrent-context: a\nkind: Config\nusers:\n- name: a\n  user:\n    token: x\n",
	"with comments":     "# Mine.\nkind: Config\nclusters:   # all\n  # the first\n  - name: a # a\n    cluster: {server: \"https://a\"}\n\ncontexts:\n  - {name: a, context: {cluster: a, user: a}}\n# the end\nusers:\n  - name: a\n    user: {exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}\n# really\n",
	"without a newline": "kind: Config\ncurrent-context: a",
}

func TestContextsComeAndGoAndEveryOtherByteStays(t *testing.T) {
	for name, before := range files {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kube", "config")
			if before != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(before), 0o644); err != nil { //nolint:gosec // a file that the user made readable
					t.Fatal(err)
				}
			}
			for range 2 { // The second merge replaces.
				if err := Merge(path, []Context{web, {Name: "strata-shop", Server: "https://127.0.0.1:1", Token: "other"}}); err != nil {
					t.Fatal(err)
				}
			}
			config, err := clientcmd.LoadFromFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := config.Contexts["strata-web"]
			if got == nil || got.Namespace != "team-web" || config.AuthInfos[got.AuthInfo].Token != "t0ken" || string(config.Clusters[got.Cluster].CertificateAuthorityData) != "PEM" {
				t.Errorf("the context is %+v", got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the mode is %v (%v)", info.Mode(), err)
			}
			text, _ := os.ReadFile(path)
			for line := range strings.SplitSeq(before, "\n") {
				// An empty list gets its entries below its key.
				if !strings.Contains(string(text), line) && !strings.HasSuffix(line, "[]") && !strings.HasSuffix(line, "null") {
					t.Errorf("the line %q is lost:\n%s", line, text)
				}
			}
			removed, err := Remove(path, []string{"strata-web", "strata-shop", "strata-gone"})
			if err != nil || strings.Join(removed, " ") != "strata-web strata-shop" {
				t.Errorf("removed %v (%v)", removed, err)
			}
			after, _ := os.ReadFile(path)
			if strings.Contains(string(after), "strata") || strings.Contains(string(after), "t0ken") {
				t.Errorf("left:\n%s", after)
			}
			if strings.Contains(before, "https://a") && string(after) != before {
				t.Errorf("got\n%s\nwant\n%s", after, before)
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
				t.Errorf("files are left: %v", entries)
			}
		})
	}
}

func TestEntriesThatKubectlHasRewrittenAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := Merge(path, []Context{web}); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config.CurrentContext = "strata-web"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	if removed, err := Remove(path, []string{"strata-web"}); err != nil || len(removed) != 1 {
		t.Fatalf("removed %v (%v)", removed, err)
	}
	text, _ := os.ReadFile(path)
	if strings.Contains(string(text), "t0ken") || strings.Contains(string(text), "name: strata-web") {
		t.Errorf("left:\n%s", text)
	}
}

func TestTheFileStaysUnchangedIf(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"it is JSON":            {`{"kind": "Config", "clusters": []}`, "not written as blocks"},
		"a list is in one line": {"kind: Config\nclusters: [{name: a, cluster: {server: x}}]\n", "not written as blocks"},
		"it is no YAML":         {"kind: [\n", "yaml"},
		"it is a list":          {"- a\n", "not written as blocks"},
		"a list is a text":      {"clusters: x\n", "not written as blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Merge(path, []Context{web})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "has not changed it") || strings.Contains(err.Error(), web.Token) {
				t.Errorf("the error is %v", err)
			}
			if text, _ := os.ReadFile(path); string(text) != test.text {
				t.Errorf("the file is\n%s", text)
			}
		})
	}
}

func TestAnotherWriterIsRespected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Merge(path, []Context{web}); err == nil || !strings.Contains(err.Error(), "another program changes it now") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(path + ".lock"); err != nil {
		t.Error("the lock of the other program is removed")
	}
}

func TestALinkStaysALink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	target, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", string(filepath.ListSeparator)+link+string(filepath.ListSeparator)+filepath.Join(dir, "second"))
	if path, err := Path(); err != nil || path != target {
		t.Errorf("the path is %s (%v), want %s", path, err, target)
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", dir)
	if path, err := Path(); err != nil || path != filepath.Join(dir, ".kube", "config") {
		t.Errorf("without KUBECONFIG, the path is %s (%v)", path, err)
	}
}
