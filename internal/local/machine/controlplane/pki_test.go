package controlplane

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// newKeys creates the keys and certificates of a new control plane at a time.
func newKeys(t *testing.T, now time.Time) *ControlPlane {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &ControlPlane{home: h, server: "https://127.0.0.1:15000"}
	keysAt(t, c, now)
	return c
}

// keysAt ensures the keys as a start at a time does.
func keysAt(t *testing.T, c *ControlPlane, now time.Time) {
	t.Helper()
	c.now = func() time.Time { return now }
	if err := c.ensureKeys(); err != nil {
		t.Fatal(err)
	}
}

// filesOf reads all files in the control plane's folder, by name.
func filesOf(t *testing.T, c *ControlPlane) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(c.home.Kubernetes(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(c.home.Kubernetes(), path)
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// changed returns the names of the files that differ.
func changed(before, after map[string][]byte) []string {
	var names []string
	for name := range after {
		if !bytes.Equal(before[name], after[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// verify fails the test unless every certificate belongs to its key and is signed by its authority.
func verify(t *testing.T, c *ControlPlane, now time.Time) {
	t.Helper()
	p := c.pki()
	for name := range filesOf(t, c) {
		client, ok := strings.CutSuffix(strings.TrimPrefix(name, "pki/"), ".crt")
		if !ok || client == "service-account" {
			continue
		}
		ca := "ca"
		if strings.HasPrefix(client, "etcd") {
			ca = "etcd-ca"
		}
		cert, issuer := parse(t, p.cert(client)), parse(t, p.cert(ca))
		roots := x509.NewCertPool()
		roots.AddCert(issuer)
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", client, err)
		}
		if _, err := tls.LoadX509KeyPair(p.cert(client), p.key(client)); err != nil {
			t.Errorf("%s: %v", client, err)
		}
	}
}

func parse(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der(raw))
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestKeysAndCertificatesStayWhileTheyAreGood(t *testing.T) {
	now := time.Now()
	c := newKeys(t, now)
	verify(t, c, now)
	before := filesOf(t, c)
	keysAt(t, c, now.Add(5*365*24*time.Hour))
	if names := changed(before, filesOf(t, c)); len(names) > 0 {
		t.Errorf("after five years %v changed", names)
	}
}

func TestCertificatesAreRenewedBeforeTheyExpire(t *testing.T) {
	made := time.Now()
	c := newKeys(t, made)
	before := filesOf(t, c)
	for _, now := range []time.Time{made.Add(lifetime - renewBefore/2), made.Add(2 * lifetime)} {
		keysAt(t, c, now)
		verify(t, c, now)
		after := filesOf(t, c)
		names := changed(before, after)
		for name := range after {
			derived := filepath.Ext(name) == ".kubeconfig" || filepath.Ext(name) == ".crt" && name != "pki/service-account.crt"
			if derived != slices.Contains(names, name) {
				t.Errorf("%s is among what changed: %v, want %v", name, !derived, derived)
			}
		}
		before = after
	}
}

func TestALostOrDamagedCertificateIsReplaced(t *testing.T) {
	now := time.Now()
	for name, damage := range map[string]func(path string) error{
		"lost":      os.Remove,
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"truncated": func(path string) error { return os.Truncate(path, 200) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, cert := range []string{"ca", "etcd-ca", "kube-apiserver", "etcd", adminClient, "service-account"} {
				c := newKeys(t, now)
				before := filesOf(t, c)
				if err := damage(c.pki().cert(cert)); err != nil {
					t.Fatal(err)
				}
				keysAt(t, c, now)
				verify(t, c, now)
				for _, name := range changed(before, filesOf(t, c)) {
					if filepath.Ext(name) == ".key" {
						t.Errorf("for the certificate %s the key %s changed", cert, name)
					}
				}
			}
		})
	}
}

func TestADamagedKeyIsAnErrorThatNamesItsFile(t *testing.T) {
	now := time.Now()
	for _, key := range []string{"ca", "service-account", "kube-apiserver"} {
		c := newKeys(t, now)
		path := c.pki().key(key)
		if err := os.Truncate(path, 60); err != nil {
			t.Fatal(err)
		}
		before := filesOf(t, c)
		err := c.ensureKeys()
		if err == nil {
			t.Fatalf("the key %s was taken", key)
		}
		for _, want := range []string{path, "damaged", "remove it"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
		if names := changed(before, filesOf(t, c)); len(names) > 0 {
			t.Errorf("with a damaged key %v changed", names)
		}
		// The remedy in the error works.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		keysAt(t, c, now)
		verify(t, c, now)
	}
}

func TestEachClientHasItsOwnIdentity(t *testing.T) {
	c := newKeys(t, time.Now())
	subjects := map[string]string{}
	for _, client := range []string{adminClient, controllerManagerClient, schedulerClient, nodeClient, kubeletClient, "etcd-client"} {
		subject := parse(t, c.pki().cert(client)).Subject.String()
		if other, taken := subjects[subject]; taken {
			t.Errorf("%s and %s are both %s", client, other, subject)
		}
		subjects[subject] = client
	}
	for client, path := range map[string]string{
		adminClient: c.home.AdminKubeconfig(), controllerManagerClient: c.kubeconfig(controllerManagerClient), schedulerClient: c.kubeconfig(schedulerClient),
	} {
		config, err := clientcmd.LoadFromFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(c.pki().cert(client))
		if err != nil {
			t.Fatal(err)
		}
		if got := config.AuthInfos[client].ClientCertificateData; !bytes.Equal(got, want) {
			t.Errorf("the kubeconfig of %s holds the certificate of another", client)
		}
	}
}

func TestKeysAreForTheirOwnerAlone(t *testing.T) {
	c := newKeys(t, time.Now())
	err := filepath.WalkDir(c.home.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		// The test itself created the folder of the home.
		if path != c.home.Dir() && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnInterruptedErasureIsCompleted(t *testing.T) {
	c := newKeys(t, time.Now())
	if err := os.Rename(c.home.Kubernetes(), c.home.ErasedKubernetes()); err != nil {
		t.Fatal(err)
	}
	keysAt(t, c, time.Now())
	for range 2 {
		if err := Erase(c.home); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{c.home.Kubernetes(), c.home.ErasedKubernetes()} {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is there still (%v)", dir, err)
			}
		}
	}
}
