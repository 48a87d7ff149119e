package cloud_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/api/sqladmin/v1beta4"
)

func TestAStoppedInstanceHasNoCertificates(t *testing.T) {
	c := newEmulator(t, true)
	owner, k := c.owner(), newConnector(t)
	address := c.newInstanceIn(owner, projectID, "strata")
	certificate, err := k.request(owner, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	if err != nil {
		t.Fatal(err)
	}
	policy := func(text string) {
		op, err := owner.sql.Instances.Patch(projectID, "strata", &sqladmin.DatabaseInstance{Settings: &sqladmin.Settings{ActivationPolicy: text}}).Do()
		c.waitSQL(owner, op, err)
	}
	policy("NEVER")
	if err := k.connect(t, address, certificate); err == nil {
		t.Error("the certificate opens the stopped instance")
	}
	_, err = k.request(owner, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	refused(t, err, 400, "instance is not running")
	policy("ALWAYS")
	if err := k.connect(t, address, certificate); err != nil {
		t.Errorf("the certificate, after the instance started again: %v", err)
	}
}

func TestTheKeysOfAnInstanceStayInTheStore(t *testing.T) {
	c := newEmulator(t, true)
	owner, k := c.owner(), newConnector(t)
	c.newInstanceIn(owner, projectID, "strata")
	found, err := owner.sql.Instances.Get(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	settings, err := owner.sql.Connect.Get(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := k.request(owner, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if found.ServerCaCert == nil || settings.ServerCaCert == nil || found.ServerCaCert.Cert != settings.ServerCaCert.Cert {
		t.Errorf("the instance's authority is %+v, that of the connect settings %+v", found.ServerCaCert, settings.ServerCaCert)
	}
	keys := c.AuthorityKeys(t, projectID+"/strata")
	if len(keys) != 2 {
		t.Fatalf("the store has %d keys", len(keys))
	}
	shown, err := json.Marshal([]any{found, settings, certificate})
	if err != nil {
		t.Fatal(err)
	}
	if contains(shown, keys) {
		t.Error("an answer contains a key")
	}
	searched := false
	err = filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || !contains(data, keys) {
			return err
		}
		if filepath.Base(path) != "store.db" || info.Mode().Perm() != 0o600 {
			t.Errorf("%s, of mode %s, contains a key", path, info.Mode())
		}
		searched = true
		return nil
	})
	if err != nil || !searched {
		t.Fatalf("no file contains the keys: %v", err)
	}
}

// contains reports whether data contains one of the keys, as bytes or in base64.
func contains(data []byte, keys [][]byte) bool {
	return slices.ContainsFunc(keys, func(key []byte) bool {
		text, _ := json.Marshal(key) // a byte slice never fails
		return bytes.Contains(data, key) || bytes.Contains(data, bytes.Trim(text, `"`))
	})
}

func TestAnInstanceOfAnEarlierVersionGetsItsAuthorities(t *testing.T) {
	c := newEmulator(t, true)
	owner, k := c.owner(), newConnector(t)
	address := c.newInstanceIn(owner, projectID, "strata")
	c.ForgetAuthorities(t, projectID+"/strata")
	c.restart(true)
	certificate, err := k.request(owner, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.connect(t, address, certificate); err != nil {
		t.Error(err)
	}
	if c.serverCA(owner) == "" {
		t.Error("the connect settings have no certificate")
	}
}
