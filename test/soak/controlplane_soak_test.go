package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/test/soak"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// recoverTimeout limits the time until a platform serves again after a kill.
const recoverTimeout = time.Minute

// TestSoakControlPlaneLosesNothing kills a process of the platform in each round, sometimes the supervisor, at random
// moments while writers write objects. After each round, and at the end, every acknowledged write must exist.
func TestSoakControlPlaneLosesNothing(t *testing.T) {
	rounds := soak.Rounds(t, 3)
	p := stratatest.NewWithTools(t)
	p.Run("local", "start")
	w := startWriters(t, p.Kubernetes())
	for round := 1; round <= rounds; round++ {
		w.await(t, 1+rand.IntN(50))
		began := time.Now()
		victims := kill(t, p, round)
		awaitRunning(t, p, victims)
		w.await(t, 1)
		served := time.Since(began)
		acknowledged := w.check(t)
		t.Logf("round %d of %d: killed %s, served again after %.1fs, all %d acknowledged writes exist",
			round, rounds, strings.Join(slices.Sorted(maps.Values(victims)), ", "), served.Seconds(), acknowledged)
	}
	w.stop()
	w.check(t)
	p.Run("local", "stop")
	if left := p.Processes(); len(left) > 0 {
		t.Errorf("after the stop %v are left", left)
	}
}

// everySupervisor is the number of rounds for each kill of the supervisor.
const everySupervisor = 4

// kill kills the supervisor, or some of its processes at once, with SIGKILL. It returns the names of the killed processes
// by process ID. After a kill of the supervisor it starts another one, as the next call of strata would. The supervisor
// restarts its processes itself.
func kill(t *testing.T, p *stratatest.Platform, round int) map[int]string {
	t.Helper()
	status := statusOf(t, p)
	victims := map[int]string{}
	if round%everySupervisor == 0 {
		victims[status.Pid] = "the supervisor"
	} else {
		for _, i := range rand.Perm(len(status.Processes))[:1+rand.IntN(len(status.Processes))] {
			victims[status.Processes[i].Pid] = status.Processes[i].Name
		}
	}
	for pid, name := range victims {
		if pid == 0 {
			t.Fatalf("%s does not run", name) // the process ID 0 would mean this test's own process group
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", name, err)
		}
	}
	if victims[status.Pid] != "" {
		p.Run("local", "start")
	}
	return victims
}

// supervisorStatus holds the fields of `strata local status -o json` that the soak reads.
type supervisorStatus struct {
	Pid       int                     `json:"pid"`
	Cluster   supervisor.ClusterState `json:"cluster"`
	Processes []supervisorProcess     `json:"processes"`
}

type supervisorProcess struct {
	Name    string `json:"name"`
	Pid     int    `json:"pid"`
	Running bool   `json:"running"`
}

func statusOf(t *testing.T, p *stratatest.Platform) supervisorStatus {
	t.Helper()
	var status supervisorStatus
	if err := json.Unmarshal(p.Run("local", "status", "-o", "json"), &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// awaitRunning waits until all processes run, with new ones in place of the victims.
func awaitRunning(t *testing.T, p *stratatest.Platform, victims map[int]string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, recoverTimeout, true, func(context.Context) (bool, error) {
		status := statusOf(t, p)
		last = nil
		if status.Cluster != supervisor.ClusterRunning {
			last = fmt.Errorf("the cluster is %s", status.Cluster)
		}
		for _, s := range status.Processes {
			if !s.Running || victims[s.Pid] != "" {
				last = fmt.Errorf("%s does not run", s.Name)
			}
		}
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("timeout: wait until the platform runs again: %v", last)
	}
}
