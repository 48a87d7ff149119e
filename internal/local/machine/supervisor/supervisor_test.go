package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/test/long"
)

func TestStatusAndStopWithoutASupervisor(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := supervisor.Connect(h)
	if _, err := client.Status(t.Context()); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("Status says %v, want ErrNotRunning", err)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Errorf("Stop says %v", err)
	}
}

func TestStartsAtTheSameTimeGiveOneSupervisor(t *testing.T) {
	p := newPlatform(t, t.TempDir())
	pids := make([]int, 4)
	var group sync.WaitGroup
	for i := range pids {
		group.Go(func() {
			client := supervisor.Connect(p.home)
			if err := client.Start(t.Context(), executable, repository); err != nil {
				t.Error(err)
				return
			}
			status, err := client.Status(t.Context())
			if err != nil {
				t.Error(err)
			}
			pids[i] = status.Pid
		})
	}
	group.Wait()
	for _, pid := range pids {
		if pid != pids[0] {
			t.Errorf("the supervisors are %v, want one", pids)
		}
	}
	eventually(t, "one process is left", func() error {
		if found := p.processes(); len(found) != 1 {
			return fmt.Errorf("there are %v", found)
		}
		return nil
	})
	if info, err := os.Stat(p.home.Socket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the control socket is %v (%v), want mode 600", info, err)
	}
}

func TestAKilledSupervisorLeavesOnlyItsData(t *testing.T) {
	long.Test(t)
	p := newPlatform(t, t.TempDir())
	p.start(t)
	before := p.startCluster(t)
	if len(before.Processes) != 4 {
		t.Fatalf("the status shows %+v", before.Processes)
	}
	if _, err := p.kubernetes(t).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"key": "value"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	credentials, err := os.ReadFile(p.home.EngineerCredentials())
	if err != nil {
		t.Fatal(err)
	}

	if err := syscall.Kill(before.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "none of its processes is left", p.noProcess)
	eventually(t, "the status says so", func() error {
		if _, err := p.Status(t.Context()); !errors.Is(err, supervisor.ErrNotRunning) {
			return fmt.Errorf("it says %w, want ErrNotRunning", err)
		}
		return nil
	})

	p.start(t)
	eventually(t, "the cluster runs again by itself", func() error {
		if s := p.status(t); s.Cluster != supervisor.ClusterRunning {
			return fmt.Errorf("it is %s %s", s.Cluster, s.ClusterError)
		}
		return nil
	})
	after := p.status(t)
	if after.GoogleURL != before.GoogleURL || after.GitURL != before.GitURL || after.Server != before.Server {
		t.Errorf("the addresses changed from %+v to %+v", before, after)
	}
	if again, err := os.ReadFile(p.home.EngineerCredentials()); err != nil || string(again) == string(credentials) {
		t.Errorf("the start has written no new login of the engineer (%v)", err)
	}
	found, err := p.kubernetes(t).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || found.Data["key"] != "value" {
		t.Errorf("the object created before is %v (%v)", found, err)
	}
}

func TestStopLeavesNoProcessAndNoPort(t *testing.T) {
	long.Test(t)
	p := newPlatform(t, t.TempDir())
	p.start(t)
	p.startCluster(t)
	if _, err := p.kubernetes(t).CoreV1().Nodes().Get(t.Context(), "local", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no process is left", p.noProcess)
	if err := p.portsFree(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.home.Socket()); !os.IsNotExist(err) {
		t.Errorf("the control socket is there still: %v", err)
	}
}

func TestStopCancelsAStartOfTheCluster(t *testing.T) {
	p := newPlatform(t, t.TempDir())
	p.start(t)
	started := make(chan error, 1)
	go func() { started <- p.StartCluster(t.Context()) }()
	eventually(t, "the cluster starts", func() error {
		if s := p.status(t); s.Cluster != supervisor.ClusterStarting {
			return fmt.Errorf("it is %s", s.Cluster)
		}
		return nil
	})
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err == nil {
		t.Error("the start of the cluster that was given up says that all went well")
	}
	eventually(t, "no process is left", p.noProcess)
	if err := p.portsFree(); err != nil {
		t.Error(err)
	}
}

func TestAHomeWithALongPathWorks(t *testing.T) {
	long.Test(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 12), strings.Repeat("and-long", 8))
	p := newPlatform(t, dir)
	if len(p.home.Socket()) <= 108 {
		t.Fatalf("the socket's path has only %d bytes", len(p.home.Socket()))
	}
	p.start(t)
	if s := p.startCluster(t); s.Cluster != supervisor.ClusterRunning {
		t.Errorf("the cluster is %s %s", s.Cluster, s.ClusterError)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no process is left", p.noProcess)
}

func TestStartNamesTheHolderOfAPort(t *testing.T) {
	p := newPlatform(t, t.TempDir())
	l, err := p.home.Listen("google")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = p.Start(t.Context(), executable, repository)
	if err == nil {
		t.Fatal("the supervisor starts")
	}
	for _, want := range []string{"google", fmt.Sprintf("pid %d", os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	eventually(t, "no process is left", p.noProcess)
}

func TestAKilledProgramShowsInTheStatus(t *testing.T) {
	long.Test(t)
	p := newPlatform(t, t.TempDir())
	p.start(t)
	for _, s := range p.startCluster(t).Processes {
		if err := syscall.Kill(s.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all run again and their restarts show", func() error {
		for _, s := range p.status(t).Processes {
			if !s.Running || s.Restarts == 0 || s.LastExit == nil || !strings.Contains(s.LastExit.Message, s.Name) {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
	p.runPod(t, "after")
}
