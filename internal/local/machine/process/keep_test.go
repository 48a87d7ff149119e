package process_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

func TestKeepRestartsAKilledProgramAndCounts(t *testing.T) {
	k, err := process.Keep(spec("sleeper", filepath.Join(t.TempDir(), "sleeper.log")), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	for restarts := 1; restarts <= 2; restarts++ {
		old := k.State().Pid
		if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the program is back", func() bool {
			s := k.State()
			return s.Running && s.Pid != old && lives(s.Pid)
		})
		if s := k.State(); s.Restarts != restarts || s.LastExit == nil || s.LastExit.Code != 137 || !strings.Contains(s.LastExit.Message, "sleeper ended (signal: killed)") {
			t.Errorf("state is %+v, want %d restarts and the reason of the last", s, restarts)
		}
	}
	pid := k.State().Pid
	k.Stop()
	if s := k.State(); s.Phase != process.Stopped || s.Pid != 0 || lives(pid) {
		t.Errorf("after Stop the state is %+v, and the program lives: %v", s, lives(pid))
	}
}

func TestKeepWaitsLongerBeforeEachRestart(t *testing.T) {
	began := time.Now()
	k, err := process.Keep(spec("fail", filepath.Join(t.TempDir(), "fail.log")), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	eventually(t, "the program was started again twice", func() bool { return k.State().Restarts >= 2 })
	// The delays are a quarter of a second and half a second.
	if took := time.Since(began); took < 750*time.Millisecond {
		t.Errorf("two restarts took %s, want at least 750ms", took)
	}
}

func TestStopEndsTheWaitForARestart(t *testing.T) {
	k, err := process.Keep(spec("fail", filepath.Join(t.TempDir(), "fail.log")), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program has ended", func() bool { return k.State().LastExit != nil })
	stopped := make(chan struct{})
	go func() {
		k.Stop()
		k.Stop()
		close(stopped)
	}()
	eventually(t, "Stop returns", func() bool {
		select {
		case <-stopped:
			return true
		default:
			return false
		}
	})
	if k.State().Running {
		t.Error("the program runs after Stop")
	}
}

func TestKeepRefusesAProgramThatCannotStart(t *testing.T) {
	s := spec("absent", filepath.Join(t.TempDir(), "absent.log"))
	s.Path = "/nowhere/absent"
	if _, err := process.Keep(s, 0); err == nil {
		t.Error("Keep keeps a program that is not there")
	}
}

// lockedBuffer is a buffer for concurrent reads and writes.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
