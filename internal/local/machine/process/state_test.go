package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

func TestAProgramThatEndsAgainAndAgainIsCrashLooping(t *testing.T) {
	k, err := process.Keep(spec("fail", filepath.Join(t.TempDir(), "fail.log")), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	eventually(t, "the crash loop shows", func() bool { return k.State().Phase == process.CrashLooping })
	s := k.State()
	if s.Restarts < 2 || s.LastExit == nil || s.LastExit.Code != 3 || !strings.HasSuffix(s.LastExit.Message, "no configuration at /nowhere") {
		t.Errorf("the state is %+v, last exit %+v", s, s.LastExit)
	}
}

func TestAProgramThatIsKilledOnceIsNotCrashLooping(t *testing.T) {
	k, err := process.Keep(spec("sleeper", filepath.Join(t.TempDir(), "sleeper.log")), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	if err := syscall.Kill(k.State().Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end shows", func() bool { return k.State().LastExit != nil })
	if s := k.State(); s.Phase == process.CrashLooping {
		t.Errorf("the state is %+v", s)
	}
}

func TestStateDescribesTheProcess(t *testing.T) {
	log := filepath.Join(t.TempDir(), "sleeper.log")
	k, err := process.Keep(spec("sleeper", log), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	s := k.State()
	if !s.Running || !lives(s.Pid) || s.StartedAt.IsZero() || s.Log != log || s.LastExit != nil {
		t.Errorf("the state is %+v", s)
	}
	eventually(t, "its memory shows", func() bool { return k.State().MemoryBytes > 1<<20 })
	if own := process.Memory(os.Getpid()); own < 1<<20 {
		t.Errorf("the test itself has %d bytes", own)
	}
}

func TestASetKnowsItsProgramsOverTheirRestarts(t *testing.T) {
	var set process.Set
	dir := t.TempDir()
	for range 3 {
		p, err := set.Start("a/fail", spec("fail", filepath.Join(dir, "fail.log")))
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
	}
	sleeper, err := set.Start("b/sleeper", spec("sleeper", filepath.Join(dir, "sleeper.log")))
	if err != nil {
		t.Fatal(err)
	}
	defer sleeper.Stop(0)
	eventually(t, "the crash loop shows", func() bool {
		states := set.States()
		return len(states) == 2 && states[0].Name == "a/fail" && states[0].Phase == process.CrashLooping && states[0].Restarts == 2
	})
	if s := set.States()[1]; s.Name != "b/sleeper" || !s.Running || s.Pid != sleeper.Pid() || s.Restarts != 0 {
		t.Errorf("the other program is %+v", s)
	}
	set.Forget("a/fail")
	if states := set.States(); len(states) != 1 || states[0].Name != "b/sleeper" {
		t.Errorf("the set is %+v, want the sleeper alone", states)
	}
}

func TestEssence(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"nothing":      {"", ""},
		"last line":    {"one\ntwo\n\n", "two"},
		"go panic":     {"starting\npanic: no such bucket\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x1d\n", "panic: no such bucket"},
		"go runtime":   {"fatal error: concurrent map writes\n\ngoroutine 7 [running]:\n", "fatal error: concurrent map writes"},
		"klog":         {`E1121 08:16:52.123456    1234 run.go:72] "command failed" err="listen tcp: address in use"`, `"command failed" err="listen tcp: address in use"`},
		"klog fatal":   {"F1121 08:16:52.123456    1234 main.go:7] cannot go on\ngoroutine 1 [running]:\n", "cannot go on"},
		"command line": {"Error: unknown flag: --colour\nUsage:\n  etcd [flags]\n", "Error: unknown flag: --colour"},
		"json":         {`{"level":"info","msg":"hello"}` + "\n" + `{"level":"fatal","msg":"discovery failed","error":"wal: crc mismatch"}` + "\nmore\n", "discovery failed: wal: crc mismatch"},
		"json error":   {`{"level":"error","msg":"no config"}`, "no config"},
		"logrus":       {`time="now" level=fatal msg="no database"` + "\nbye\n", `time="now" level=fatal msg="no database"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := process.Essence([]byte(test.output)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := process.Essence([]byte(strings.Repeat("é", 1000))); len(got) > 500 || !strings.HasSuffix(got, "é…") {
		t.Errorf("a long line gives %d bytes that end in %q", len(got), got[len(got)-5:])
	}
}
