package sandboxes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
	"github.com/strata-platform/strata/test/long"
)

func testLimits(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{})
	neighbour, quiet := begin(t, p, guest(t, "neighbour", "wait"), nil)
	quiet.waitFor(t, "waiting", neighbour)
	eater := guest(t, "eater", "eat", "4000")
	eater.Limits.Memory = 100 << 20
	if out, exit := run(t, p, eater); exit != (spec.Exit{Code: 137, Signal: syscall.SIGKILL, Exceeded: spec.MemoryLimit}) {
		t.Errorf("memory: %+v %s", exit, out)
	}
	bomb := guest(t, "bomb", "fork")
	bomb.Limits.Processes = 40
	if out, exit := run(t, p, bomb); exit.Exceeded != spec.ProcessesLimit {
		t.Errorf("processes: %+v %s", exit, out)
	}
	stats, err := p.Stats(t.Context())
	if neighbour := stats.Containers["neighbour"]; err != nil || len(stats.Containers) != 1 || neighbour.Processes < 1 || neighbour.Memory == 0 || stats.Memory == 0 {
		t.Errorf("stats: %+v %v", stats, err)
	}
	opener := guest(t, "opener", "files")
	opener.Limits.OpenFiles = 30
	if out, _ := run(t, p, opener); !strings.Contains(out, "too many open files") {
		t.Errorf("open files: %s", out)
	}
	// Nobody reads the output, so the container waits, and the others do not notice.
	reader, writer := io.Pipe()
	defer reader.Close()
	flood, err := p.Start(t.Context(), guest(t, "flood", "flood"), sandboxes.Streams{Stdout: writer})
	if err != nil {
		t.Fatal(err)
	}
	if _, exit := run(t, p, guest(t, "other", "exit", "4")); exit.Code != 4 {
		t.Errorf("beside a flood: %+v", exit)
	}
	reader.Close()
	if err := p.RemoveContainer(t.Context(), "flood"); err != nil {
		t.Error(err)
	}
	if exit, err := flood.Wait(t.Context()); exit.Signal != syscall.SIGKILL || err == nil {
		t.Errorf("a flood whose reader has gone: %+v %v", exit, err)
	}
	select {
	case <-neighbour.Done():
		t.Error("the neighbour has ended")
	default:
	}
}

func testLeftovers(t *testing.T, h *sandboxes.Host) {
	before := leftovers(t)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	p := create(t, h, spec.Pod{})
	process, out := begin(t, p, guest(t, "wait", "wait"), nil)
	out.waitFor(t, "waiting", process)
	if err := p.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The removal may come before the request for the exit.
	if exit, err := process.Wait(t.Context()); !errors.Is(err, sandboxes.ErrGone) && (err != nil || exit.Signal != syscall.SIGKILL) {
		t.Errorf("the container of a removed pod: %+v %v", exit, err)
	}
	<-p.Done()
	if after := leftovers(t); len(after) > len(before) {
		t.Errorf("processes before: %q\nafter: %q", before, after)
	}
	if after, _ := os.ReadFile("/proc/self/mountinfo"); string(after) != string(mounts) {
		t.Errorf("mounts before:\n%s\nafter:\n%s", mounts, after)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.CreatePod(ctx, spec.Pod{ID: "pod"}); err == nil {
		t.Error("a cancelled call created a pod")
	}
}

func testEnd(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{ID: "shared", ShareProcesses: true})
	process, out := begin(t, p, guest(t, "wait", "wait"), nil)
	out.waitFor(t, "waiting", process)
	if err := p.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if _, err := p.Start(t.Context(), guest(t, "late", "wait"), sandboxes.Streams{}); err == nil {
		t.Error("a removed pod starts a container")
	}
}

func TestPodsOfAnOrdinaryUser(t *testing.T) {
	long.Test(t)
	const nobody = 65534
	if os.Getuid() != 0 {
		t.Skip("this test drops root's rights, and the user is not root: TestPods tests the same")
	}
	dir, home := filepath.Join(files(t), "nobody"), t.TempDir()
	program := filepath.Join(dir, "test")
	copies := map[string]string{program: "/proc/self/exe"}
	for _, name := range []string{"runsc", "root/bin/guest"} {
		copies[filepath.Join(dir, name)] = filepath.Join(files(t), name)
	}
	for to, from := range copies {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := home; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tree := range []string{dir, home} {
		if err := filepath.WalkDir(tree, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, nobody, nobody)
		}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestPods$", "-test.v")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, filesVariable + "=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "SKIP") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestAKilledHelperEndsItsPods(t *testing.T) {
	before := leftovers(t)
	h := start(t)
	p := create(t, h, spec.Pod{})
	process, out := begin(t, p, guest(t, "wait", "wait"), nil)
	out.waitFor(t, "waiting", process)
	if during := leftovers(t); len(during) <= len(before) {
		t.Fatalf("the pod's processes are missing from %q", during)
	}
	if err := h.KillHelper(); err != nil {
		t.Fatal(err)
	}
	<-h.Done()
	<-p.Done()
	if _, err := process.Wait(t.Context()); err == nil || h.Err() == nil {
		t.Errorf("no error: %v %v", err, h.Err())
	}
	if after := leftovers(t); len(after) > len(before) {
		t.Errorf("before: %q\nafter: %q", before, after)
	}
}

// killedVariable makes TestAKilledProgramEndsItsPods start a pod and wait.
const killedVariable = "SANDBOXES_TEST_KILLED"

func TestAKilledProgramEndsItsPods(t *testing.T) {
	if os.Getenv(killedVariable) != "" {
		p := create(t, start(t), spec.Pod{})
		process, out := begin(t, p, guest(t, "wait", "wait"), nil)
		out.waitFor(t, "waiting", process)
		fmt.Println("ready")
		<-process.Done()
		return
	}
	before := leftovers(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestAKilledProgramEndsItsPods$")
	cmd.Env = append(os.Environ(), killedVariable+"=1", filesVariable+"="+files(t))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 5)
	if _, err := io.ReadFull(stdout, ready); err != nil || string(ready) != "ready" {
		t.Fatalf("%q %v", ready, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stdout)
	_ = cmd.Wait()
	// The kernel kills the helper after its parent, and this process waits for neither.
	for len(leftovers(t)) > len(before) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("before: %q\nafter: %q", before, leftovers(t))
		}
	}
}

func TestTheGatewayGetsFramesOfThePod(t *testing.T) {
	h := start(t)
	network := spec.Network{Address: netip.MustParsePrefix("10.7.0.5/24"), Gateway: netip.MustParseAddr("10.7.0.1"), MAC: "02:00:00:00:00:05"}
	p, link, err := h.CreatePod(t.Context(), spec.Pod{ID: "pod", Network: network})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	process, out := begin(t, p, guest(t, "get", "get", "http://10.7.0.1/"), nil)
	// The first frame asks for the gateway's hardware address (RFC 826).
	frame := make([]byte, 2048)
	for {
		n, err := link.Read(frame)
		if err != nil {
			t.Fatal(err)
		}
		if n >= 42 && string(frame[12:14]) == "\x08\x06" {
			break
		}
	}
	if source, target := netip.AddrFrom4([4]byte(frame[28:32])), netip.AddrFrom4([4]byte(frame[38:42])); source.String() != "10.7.0.5" || target.String() != "10.7.0.1" || string(frame[6:12]) != "\x02\x00\x00\x00\x00\x05" {
		t.Errorf("%s asks for %s from %x", source, target, frame[6:12])
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if exit, err := process.Wait(t.Context()); err != nil || exit.Code == 0 {
		t.Errorf("%+v %v %s", exit, err, out)
	}
	if out, exit := out.String(), strings.Contains(out.String(), "hello"); exit {
		t.Error(out)
	}
}
