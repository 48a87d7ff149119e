package controlplane_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/long"
)

// socketsOf returns the listening sockets of a process: its TCP ports, and the names of its Unix sockets (proc(5),
// net/tcp and net/unix: the inode is the tenth and the seventh field).
func socketsOf(t *testing.T, pid int) (ports []int, names []string) {
	t.Helper()
	own := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			own[target] = true
		}
	}
	table := func(name string) (rows [][]string) {
		raw, err := os.ReadFile("/proc/net/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			rows = append(rows, strings.Fields(line))
		}
		return rows
	}
	for _, row := range append(table("tcp"), table("tcp6")...) {
		if len(row) < 10 || row[3] != "0A" || !own["socket:["+row[9]+"]"] {
			continue
		}
		port, err := strconv.ParseInt(row[1][strings.LastIndex(row[1], ":")+1:], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, int(port))
	}
	for _, row := range table("unix") {
		if len(row) > 7 && own["socket:["+row[6]+"]"] {
			names = append(names, row[7])
		}
	}
	return ports, names
}

func TestEtcdRequiresACertificate(t *testing.T) {
	long.Test(t)
	plane := start(t, newHome(t))
	ports, names := socketsOf(t, states(plane)["etcd"].Pid)
	if len(ports) != 2 || len(names) != 0 {
		t.Errorf("etcd listens on the ports %v and the sockets %q, want one port for clients and one for peers", ports, names)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, port := range ports {
		for _, scheme := range []string{"http", "https"} {
			for _, path := range []string{"/version", "/members", "/health"} {
				url := fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, port, path)
				response, err := client.Get(url)
				if err != nil {
					continue
				}
				response.Body.Close()
				if response.StatusCode != http.StatusBadRequest {
					t.Errorf("GET %s: %s", url, response.Status)
				}
			}
		}
	}
}
