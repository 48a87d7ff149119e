package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/test/docstest"
)

func TestLocalStatusShowsEveryPart(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	s := supervisor.Status{
		Home: "/home/ada/.strata", Pid: 100, StartedAt: ago(time.Hour), MemoryBytes: 90e6,
		GoogleURL: "http://127.0.0.1:15001", GitURL: "http://127.0.0.1:15002", Server: "https://127.0.0.1:15003",
		Ports: map[string]int{"kube-apiserver": 15003, "git": 15002, "google": 15001}, Cluster: supervisor.ClusterRunning,
		ControlPlane: supervisor.Health{Message: "crash looping: kube-scheduler ended (exit status 1): no such file"},
		Node:         supervisor.Health{Ready: true, Restarts: 2},
		Processes: []process.State{
			{Name: "etcd", Phase: process.Running, Running: true, Pid: 101, StartedAt: ago(90 * time.Second), MemoryBytes: 45e6, Restarts: 1, LastExit: &process.Exit{At: ago(91 * time.Second), Message: "etcd ended (signal: killed)"}},
			{Name: "kube-scheduler", Phase: process.CrashLooping, Restarts: 7, LastExit: &process.Exit{At: ago(3 * time.Second), Message: "kube-scheduler ended (exit status 1): no such file"}},
		},
	}
	var out bytes.Buffer
	if err := LocalStatus(&out, s, now); err != nil {
		t.Fatal(err)
	}
	want := `home           /home/ada/.strata
supervisor     running, pid 100, up 60m, 90 MB
Google         http://127.0.0.1:15001 (emulated)
Git            http://127.0.0.1:15002
API server     https://127.0.0.1:15003
control plane  not ready: crash looping: kube-scheduler ended (exit status 1): no such file
node           ready, 2 restarts
ports          git 15002, google 15001, kube-apiserver 15003

PROCESS         STATE          PID  RESTARTS  UPTIME  MEMORY  LAST EXIT
etcd            running        101  1         90s     45 MB   91s ago: etcd ended (signal: killed)
kube-scheduler  crash looping  -    7         -       -       3s ago: kube-scheduler ended (exit status 1): no such file
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestLocalStatusSaysWhyThereIsNoControlPlane(t *testing.T) {
	for want, s := range map[string]supervisor.Status{
		"absent":                          {Cluster: supervisor.ClusterAbsent},
		"starting: waiting for etcd":      {Cluster: supervisor.ClusterStarting, Waiting: "etcd"},
		"failed: port 1 of this home ...": {Cluster: supervisor.ClusterFailed, ClusterError: "port 1 of this home ..."},
	} {
		var out bytes.Buffer
		if err := LocalStatus(&out, s, time.Now()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out.Bytes(), []byte("control plane  "+want+"\n")) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestTheDocumentedLocalStatusIsWhatIsPrinted(t *testing.T) {
	docstest.CheckJSON[supervisor.Status](t, "docs/reference/output.md", "local-status")
}
