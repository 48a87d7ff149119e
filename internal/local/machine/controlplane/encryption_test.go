package controlplane

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// canary is the text that the test looks for in etcd's files.
const canary = "canary-of-encryption-at-rest"

func TestStoredObjectsAreEncryptedAndSurviveARestart(t *testing.T) {
	long.Test(t)
	c := startIn(t, newTestHome(t), toolsOf(t, nil))
	storeCanary(t, c)
	for _, key := range []string{"secrets/default/canary", "configmaps/default/canary", "namespaces/default"} {
		if value := stored(t, c, key); !bytes.HasPrefix(value, []byte("k8s:enc:secretbox:")) {
			t.Errorf("%s is stored as %.40q", key, value)
		}
	}
	c.Stop()
	if found := filesWithCanary(t, store(c.home)); len(found) > 0 {
		t.Errorf("etcd's files hold the Secret in plain text: %v", found)
	}
	checkCanary(t, startIn(t, c.home, c.find))
}

func TestAnUnencryptedHomeIsEncryptedOnce(t *testing.T) {
	long.Test(t)
	find := toolsOf(t, nil)
	before := startIn(t, newTestHome(t), toolsOf(t, map[string]string{"kube-apiserver": withoutEncryption(t)}))
	storeCanary(t, before)
	if value := stored(t, before, "secrets/default/canary"); !bytes.Contains(value, []byte(canary)) {
		t.Fatalf("the API server without a key stores %.40q", value)
	}
	before.Stop()
	for _, path := range []string{encrypted(before.home), before.home.SecretFile(etcdSecret)} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}

	after := startIn(t, before.home, find)
	checkCanary(t, after)
	once := map[string][]byte{}
	for _, key := range []string{"secrets/default/canary", "configmaps/default/canary"} {
		once[key] = stored(t, after, key)
		if !bytes.HasPrefix(once[key], []byte("k8s:enc:secretbox:")) {
			t.Errorf("after a start with a key %s is stored as %.40q", key, once[key])
		}
	}
	after.Stop()
	again := startIn(t, before.home, find)
	for key, value := range once {
		if !bytes.Equal(stored(t, again, key), value) {
			t.Errorf("the next start wrote %s again", key)
		}
	}
}

func TestALostKeyIsAnErrorAndIsNotReplaced(t *testing.T) {
	c := &ControlPlane{home: newTestHome(t)}
	config, err := c.ensureEncryption()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(store(c.home), 0o700), home.WriteFile(encrypted(c.home), nil)); err != nil {
		t.Fatal(err)
	}
	key := c.home.SecretFile(etcdSecret)
	for _, path := range []string{key, config} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v (%v), want mode 600", path, info, err)
		}
	}
	kept, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(key, key+".copy"); err != nil {
		t.Fatal(err)
	}
	_, err = c.ensureEncryption()
	for _, want := range []string{key, "from a backup", "down --purge"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another key was made: %v", err)
	}
	if err := errors.Join(os.Rename(key+".copy", key), os.Remove(config)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ensureEncryption(); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile(config); err != nil || !bytes.Equal(again, kept) {
		t.Errorf("the configuration changed (%v)", err)
	}
}

func newTestHome(t *testing.T) home.Home {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func startIn(t *testing.T, h home.Home, find FindTool) *ControlPlane {
	t.Helper()
	c := New(h, find)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// withoutEncryption returns an API server that ignores its encryption configuration, like earlier versions.
func withoutEncryption(t *testing.T) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "kube-apiserver")
	content := fmt.Sprintf(`#!/bin/sh
for arg; do
	shift
	case $arg in --encryption-provider-config=*) ;; *) set -- "$@" "$arg" ;; esac
done
exec '%s' "$@"
`, toolchaintest.Path(t, "kube-apiserver"))
	if err := os.WriteFile(script, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

func storeCanary(t *testing.T, c *ControlPlane) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "canary"}
	_, err := c.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: meta, StringData: map[string]string{"password": canary},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: meta, Data: map[string]string{"setting": canary},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func checkCanary(t *testing.T, c *ControlPlane) {
	t.Helper()
	secret, err := c.client.CoreV1().Secrets("default").Get(t.Context(), "canary", metav1.GetOptions{})
	if err != nil || string(secret.Data["password"]) != canary {
		t.Errorf("the Secret holds %q (%v)", secret.Data["password"], err)
	}
}

// stored returns the value of a key below /registry/ in etcd, from etcd's own JSON API.
func stored(t *testing.T, c *ControlPlane, key string) []byte {
	t.Helper()
	p := c.pki()
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: p.cert("etcd-ca"), CertFile: p.cert("etcd-client"), KeyFile: p.key("etcd-client"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"key": %q}`, base64.StdEncoding.EncodeToString([]byte("/registry/"+key)))
	response, err := client.Post(c.etcd+"/v3/kv/range", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Kvs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK || len(answer.Kvs) != 1 {
		t.Fatalf("etcd answers %s with %d values for %s (%v)", response.Status, len(answer.Kvs), key, err)
	}
	return answer.Kvs[0].Value
}

// filesWithCanary returns the files below a folder that contain the canary, in plain text or in base64.
func filesWithCanary(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	read := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		read++
		if slices.ContainsFunc([]string{canary, base64.StdEncoding.EncodeToString([]byte(canary))}, func(form string) bool {
			return bytes.Contains(content, []byte(form))
		}) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || read == 0 {
		t.Fatalf("%d files of %s were read: %v", read, dir, err)
	}
	return found
}
