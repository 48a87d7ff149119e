package controlplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// toolsOf returns a function that finds the programs of a control plane. instead replaces some of them.
func toolsOf(t *testing.T, instead map[string]string) FindTool {
	t.Helper()
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		toolchaintest.Path(t, name)
	}
	return func(_ context.Context, name string) (string, error) {
		if path, ok := instead[name]; ok {
			return path, nil
		}
		return toolchaintest.Path(t, name), nil
	}
}

func TestAControlPlaneOlderThanItsCertificatesStartsWithItsData(t *testing.T) {
	long.Test(t)
	find := toolsOf(t, nil)
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := New(h, find)
	c.now = func() time.Time { return time.Now().Add(24*time.Hour - lifetime) }
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Stop()

	again := New(h, find)
	if err := again.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer again.Stop()
	verify(t, again, time.Now().Add(lifetime-time.Hour))
	if _, err := again.client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestStartNamesAProgramThatDoesNotStart(t *testing.T) {
	long.Test(t)
	script := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'no configuration today' >&2\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		t.Run(name, func(t *testing.T) {
			h, err := home.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			c := New(h, toolsOf(t, map[string]string{name: script}))
			err = c.Start(t.Context())
			if err == nil {
				c.Stop()
				t.Fatal("the control plane starts")
			}
			for _, want := range []string{"crash loop: " + name + " ended (exit status 7): no configuration today", h.Log(name)} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if states := c.States(); len(states) > 0 {
				t.Errorf("after the failure there are %+v", states)
			}
		})
	}
}

func TestADamagedStoreIsAnErrorThatNamesTheProgramAndItsLog(t *testing.T) {
	long.Test(t)
	find := toolsOf(t, nil)
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := New(h, find)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Stop()
	logs, err := filepath.Glob(filepath.Join(h.Kubernetes(), "etcd", "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("the store's log is %v (%v)", logs, err)
	}
	for _, log := range logs {
		f, err := os.OpenFile(log, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(bytes.Repeat([]byte("damage "), 200), 512)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	err = c.Start(t.Context())
	if err == nil {
		c.Stop()
		t.Fatal("the control plane starts")
	}
	// With some damage, etcd dies. With other damage, etcd waits for members that do not exist, and the API server
	// dies.
	for _, want := range []string{"crash loop: ", h.Log("etcd"), filepath.Join(h.Kubernetes(), "etcd"), "strata down --purge"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	t.Log(err)
}

func TestAProgramThatDoesNotRunKeepsTheControlPlaneFromBeingReady(t *testing.T) {
	long.Test(t)
	script := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := New(h, toolsOf(t, map[string]string{"kube-scheduler": script}))
	// The first three failures may come before or after the end of the start.
	if err := c.Start(t.Context()); err != nil && !strings.Contains(err.Error(), "kube-scheduler") {
		t.Fatal(err)
	} else if err == nil {
		defer c.Stop()
		if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "kube-scheduler") {
			t.Errorf("the control plane is ready, or not for want of a scheduler: %v", err)
		}
	}
}

func TestIncompleteDataOfEtcdIsRecreated(t *testing.T) {
	long.Test(t)
	find := toolsOf(t, nil)
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(store(h), "member", "wal", "0000000000000000-0000000000000000.wal")
	for _, path := range []string{log, uninitialized(h)} {
		if err := home.WriteFile(path, []byte("half")); err != nil {
			t.Fatal(err)
		}
	}
	c := New(h, find)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if _, err := os.Stat(uninitialized(h)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("etcd serves, and its data is still taken for half made: %v", err)
	}
}
