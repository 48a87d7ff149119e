package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// portsKey is the key under which cloudEmpty stores the ports for nothingLeft.
type portsKey struct{}

// cloudEmpty: cloudempty — for use after `strata down` without --purge: the emulated cloud contains no resource, its
// database server no data, the home no cluster and no team's state. It stores the home's ports for nothingleft, which
// follows after --purge.
func cloudEmpty(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.Getenv("STRATA_HOME")
	h, err := home.At(dir)
	ts.Check(err)
	left, err := cloudResources(filepath.Join(h.Google(), "store.db"))
	ts.Check(err)
	for _, folder := range []string{filepath.Join(h.Google(), "objects"), filepath.Join(h.Google(), "sql", home.Project), h.TenantStates(), h.Kubernetes(), h.Pods()} {
		entries, err := os.ReadDir(folder)
		if err != nil && !os.IsNotExist(err) {
			ts.Check(err)
		}
		for _, entry := range entries {
			left = append(left, filepath.Join(folder, entry.Name()))
		}
	}
	if len(left) > 0 {
		ts.Fatalf("the emulated cloud still contains:\n%s", strings.Join(left, "\n"))
	}
	ports, err := portsOf(filepath.Join(dir, "home.json"))
	ts.Check(err)
	*ts.Value(portsKey{}).(*map[string]int) = ports
}

// remembered are the tables of the emulator without resources. The emulator needs their data for its responses: Google,
// for example, remembers deleted resources.
var remembered = []string{
	"projects", "credentials", "tokens", "clusterOperations", "sqlOperations", "roleDeletions", "deletedAccounts", "serviceStates",
	// Cloud KMS deletes no key.
	"kmsKeyRings", "kmsKeys", "kmsVersions",
}

// cloudResources returns the names of the resources in the store of a stopped emulator, including roles granted to
// members other than the engineer.
func cloudResources(store string) ([]string, error) {
	db, err := bbolt.Open(store, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("read the store of the emulator, which must have stopped: %w", err)
	}
	defer db.Close()
	var found []string
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(table []byte, records *bbolt.Bucket) error {
			if slices.Contains(remembered, string(table)) {
				return nil
			}
			return records.ForEach(func(key, value []byte) error {
				resource, err := isResource(string(table), value)
				if resource {
					found = append(found, fmt.Sprintf("%s %s: %s", table, key, value))
				}
				return err
			})
		})
	})
	return found, err
}

// isResource reports whether a record is a resource. Deleted resources that can still be restored, and the engineer's own
// role, do not count.
func isResource(table string, value []byte) (bool, error) {
	var record struct {
		Deleted  bool
		Bindings []struct {
			Role    string
			Members []string
		}
	}
	err := json.Unmarshal(value, &record)
	switch {
	case err != nil:
		return false, err
	case table == "customRoles":
		return !record.Deleted, nil
	case table == "policies":
		b := record.Bindings
		return len(b) > 1 || len(b) == 1 && (b[0].Role != "roles/owner" || len(b[0].Members) > 1), nil
	}
	return true, nil
}

// nothingLeft: nothingleft — for use after the last `strata down`: no home, process, open port or temporary file of the
// platform is left. After the command machine, the mounts, interfaces and sysctls of the machine are the same as before, and the
// user's home folder is empty.
func nothingLeft(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.Getenv("STRATA_HOME")
	ports := *ts.Value(portsKey{}).(*map[string]int)
	if kept, err := portsOf(filepath.Join(dir, "home.json")); err == nil {
		ports = kept
	} else if _, err := os.Stat(dir); err == nil {
		ts.Fatalf("%s still exists, although it is not a home any more", dir)
	}
	if len(ports) == 0 {
		ts.Fatalf("the ports of %s are unknown: use cloudempty before --purge", dir)
	}
	left := append(leftOf(ports, ts.Getenv("TMPDIR")), processesOf(ts.Getenv("PLATFORM"))...)
	changed, err := ts.Value(machineKey{}).(*machine).changed()
	ts.Check(err)
	left = append(left, changed...)
	if len(left) > 0 {
		ts.Fatalf("these are left:\n%s", strings.Join(left, "\n"))
	}
}

// leftOf returns the names of the ports on which a process still listens, and the files in a folder for temporary files.
func leftOf(ports map[string]int, temporary string) []string {
	var left []string
	for name, port := range ports {
		if served(port) {
			left = append(left, fmt.Sprintf("port %d of %s is still open", port, name))
		}
	}
	files, err := os.ReadDir(temporary)
	if err != nil {
		return append(left, err.Error())
	}
	for _, file := range files {
		left = append(left, "the temporary file "+file.Name())
	}
	return left
}

// portsOf returns the ports in a home.json, by purpose.
func portsOf(file string) (map[string]int, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var kept struct {
		Ports map[string]int `json:"ports"`
	}
	return kept.Ports, json.Unmarshal(raw, &kept)
}

func served(port int) bool {
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// processesOf returns the processes with a folder in their arguments or environment, or as their working folder, except
// this one.
func processesOf(dir string) []string {
	var found []string
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if filepath.Base(folder) == strconv.Itoa(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(folder, "environ"))
		cwd, _ := os.Readlink(filepath.Join(folder, "cwd"))
		if bytes.Contains(line, []byte(dir)) || bytes.Contains(environment, []byte(dir)) || strings.HasPrefix(cwd, dir) {
			found = append(found, fmt.Sprintf("process %s: %s", filepath.Base(folder), bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// noProcesses: noprocesses DIR — no process has the folder in its arguments, in its environment, or as its working
// folder.
func noProcesses(ts *testscript.TestScript, _ bool, args []string) {
	if left := processesOf(args[0]); len(left) > 0 {
		ts.Fatalf("these processes run:\n%s", strings.Join(left, "\n"))
	}
}
