package sandboxes_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// TestPods runs as the user of the test, and by TestPodsOfAnOrdinaryUser as another one.
func TestPods(t *testing.T) {
	h := start(t)
	t.Run("a process has what its description says", func(t *testing.T) { testFacts(t, h) })
	t.Run("containers share network, memory and processes", func(t *testing.T) { testShared(t, h) })
	t.Run("files are those of the description", func(t *testing.T) { testFiles(t, h) })
	t.Run("sub paths", func(t *testing.T) { testSubPaths(t, h) })
	t.Run("owners", func(t *testing.T) { testOwners(t, h) })
	t.Run("exec, terminal and signals", func(t *testing.T) { testExec(t, h) })
	t.Run("limits", func(t *testing.T) { testLimits(t, h) })
	t.Run("a pod leaves nothing behind", func(t *testing.T) { testLeftovers(t, h) })
	t.Run("the end of a sandbox is reported", func(t *testing.T) { testEnd(t, h) })
}

func testFacts(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{Hostname: "web-0", DNS: "nameserver 10.9.0.1\n"})
	c := guest(t, "facts", "facts")
	c.Env, c.Cwd, c.UID, c.GID, c.Groups = []string{"A=b c"}, "/bin", 33, 34, []uint32{7}
	c.Limits.OpenFiles = 321
	out, exit := run(t, p, c)
	want := `host=web-0 cwd=/bin uid=33 gid=34 groups=[7] nofile=321 caps=0000000000000000 A=b c resolv="nameserver 10.9.0.1\n"`
	if exit.Code != 0 || !strings.Contains(out, want) || !strings.Contains(out, "127.0.0.1/8") {
		t.Errorf("exit %+v, output %s\nwant %s", exit, out, want)
	}
	root := guest(t, "root", "facts")
	root.Capabilities = []string{"CAP_CHOWN", "CAP_NET_RAW"}
	if out, _ := run(t, p, root); !strings.Contains(out, "caps=0000000000000001 ") {
		t.Errorf("capabilities other than CAP_CHOWN: %s", out)
	}
	for code, want := range map[string]int{"0": 0, "3": 3, "255": 255} {
		if _, exit := run(t, p, guest(t, "exit", "exit", code)); exit != (spec.Exit{Code: want}) {
			t.Errorf("exit code %s: %+v", code, exit)
		}
	}
	missing := guest(t, "missing")
	missing.Args = []string{"/bin/nothing"}
	if _, err := p.Start(t.Context(), missing, sandboxes.Streams{}); err == nil || !strings.Contains(err.Error(), "/bin/nothing") {
		t.Errorf("a missing program: %v", err)
	}
	if out, _ := run(t, p, guest(t, "attack", "attack")); strings.Contains(out, "succeeded") || strings.Contains(out, "vda") {
		t.Errorf("an attack: %s", out)
	}
}

func testShared(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{ShareProcesses: true, Memory: []spec.Memory{{Name: "scratch", Size: 1 << 20}}})
	scratch := spec.Mount{Kind: spec.Shared, Source: "scratch", Target: "/scratch"}
	server := guest(t, "server", "serve", "127.0.0.1:80")
	server.UID, server.Mounts = 33, []spec.Mount{scratch}
	process, out := begin(t, p, server, nil)
	out.waitFor(t, "serving", process)
	if out, exit := run(t, p, guest(t, "client", "get", "http://127.0.0.1:80/")); out != "hello from the other container" {
		t.Errorf("loopback: %+v %s", exit, out)
	}
	for _, file := range []string{"/scratch/file", "/dev/shm/file"} {
		writer, reader := guest(t, "writer", "write", file, "text"), guest(t, "reader", "read", file)
		writer.Mounts, reader.Mounts = []spec.Mount{scratch}, []spec.Mount{scratch}
		if out, exit := run(t, p, writer); exit.Code != 0 {
			t.Errorf("write %s: %+v %s", file, exit, out)
		}
		if out, _ := run(t, p, reader); out != "text" {
			t.Errorf("read %s: %s", file, out)
		}
	}
	large := guest(t, "large", "write", "/scratch/large", "", "2000000")
	large.Mounts = []spec.Mount{scratch}
	if out, exit := run(t, p, large); exit.Code == 0 || !strings.Contains(out, "no space left") {
		t.Errorf("2 MB in 1 MB: %+v %s", exit, out)
	}
	if out, _ := run(t, p, guest(t, "ps", "ps")); !strings.Contains(out, "1 /pause") || !strings.Contains(out, "serve") {
		t.Errorf("shared processes: %s", out)
	}
	alone := create(t, h, spec.Pod{ID: "alone"})
	if out, _ := run(t, alone, guest(t, "ps", "ps")); out != "1 /bin/guest ps\n" {
		t.Errorf("own processes: %s", out)
	}
}

func testFiles(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("from outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	bind := spec.Mount{Kind: spec.Bind, Source: dir, Target: "/data/volume"}
	readOnly := bind
	readOnly.ReadOnly = true
	tests := map[string]struct {
		action   []string
		mounts   []spec.Mount
		readOnly bool
		want     string
	}{
		"a bind mount shows the folder":          {[]string{"read", "/data/volume/file"}, []spec.Mount{bind}, false, "from outside"},
		"a bind mount takes writes":              {[]string{"write", "/data/volume/new", "x"}, []spec.Mount{bind}, false, ""},
		"a read-only mount takes no writes":      {[]string{"write", "/data/volume/no", "x"}, []spec.Mount{readOnly}, false, "read-only file system"},
		"a root file system takes writes":        {[]string{"write", "/bin/new", "x"}, nil, false, ""},
		"a new container has none of the writes": {[]string{"read", "/bin/new"}, nil, false, "no such file"},
		"a read-only root takes no writes":       {[]string{"write", "/bin/new", "x"}, nil, true, "read-only file system"},
		"a tmpfs has its size": {[]string{"write", "/t/file", "", "2000000"},
			[]spec.Mount{{Kind: spec.Tmpfs, Target: "/t", Size: 1 << 20}}, false, "no space left"},
		"a small file fits into a tmpfs": {[]string{"write", "/t/file", "", "20000"},
			[]spec.Mount{{Kind: spec.Tmpfs, Target: "/t", Size: 1 << 20}}, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := guest(t, "files", test.action...)
			c.Mounts, c.ReadOnlyRootFS = test.mounts, test.readOnly
			if out, exit := run(t, p, c); !strings.Contains(out, test.want) || (exit.Code == 0) != (test.want == "" || test.want == "from outside") {
				t.Errorf("%+v %s", exit, out)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(files(t), "root", "bin", "new")); err == nil {
		t.Error("a container changed the folder of its root file system")
	}
	small := guest(t, "small", "write", "/file", "", "2000000")
	small.RootFS.Writable = 1 << 20
	if out, exit := run(t, p, small); exit.Code == 0 || !strings.Contains(out, "no space left") {
		t.Errorf("2 MB in a root file system of 1 MB: %+v %s", exit, out)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	c := guest(t, "link", "list", "/l")
	c.Mounts = []spec.Mount{{Kind: spec.Bind, Source: link, Target: "/l"}}
	if _, err := p.Start(t.Context(), c, sandboxes.Streams{}); err == nil || !strings.Contains(err.Error(), "neither a folder nor a regular file") {
		t.Errorf("a symbolic link: %v", err)
	}
}

func testExec(t *testing.T, h *sandboxes.Host) {
	p := create(t, h, spec.Pod{})
	trap, out := begin(t, p, guest(t, "main", "trap"), nil)
	out.waitFor(t, "trapping", trap)
	exec := func(process spec.Process, stdin string) (string, spec.Exit) {
		t.Helper()
		out := newBuffer()
		started, err := p.Exec(t.Context(), "main", process, sandboxes.Streams{Stdin: strings.NewReader(stdin), Stdout: out, Stderr: out})
		if err != nil {
			t.Fatal(err)
		}
		exit, err := started.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), exit
	}
	if _, exit := exec(spec.Process{Args: []string{"/bin/guest", "exit", "9"}}, ""); exit.Code != 9 {
		t.Errorf("exit code of a command: %+v", exit)
	}
	if out, _ := exec(spec.Process{Args: []string{"/bin/guest", "cat"}}, "through a pipe"); out != "through a pipe" {
		t.Errorf("input: %s", out)
	}
	if out, _ := exec(spec.Process{Args: []string{"guest", "facts"}, Env: []string{"PATH=/bin", "A=exec"}, UID: 5, Cwd: "/bin"}, ""); !strings.Contains(out, "cwd=/bin uid=5 ") || !strings.Contains(out, "A=exec") {
		t.Errorf("user, folder and variables: %s", out)
	}
	if _, err := p.Exec(t.Context(), "main", spec.Process{Args: []string{"/nothing"}}, sandboxes.Streams{}); err == nil || !strings.Contains(err.Error(), `"/nothing"`) {
		t.Errorf("a missing program: %v", err)
	}
	if _, err := p.Exec(t.Context(), "other", spec.Process{Args: []string{"/bin/guest"}}, sandboxes.Streams{}); !errors.Is(err, sandboxes.ErrGone) {
		t.Errorf("a missing container: %v", err)
	}
	testTerminal(t, func(c spec.Process, streams sandboxes.Streams) (*sandboxes.Process, error) {
		return p.Exec(t.Context(), "main", c, streams)
	})
	testTerminal(t, func(c spec.Process, streams sandboxes.Streams) (*sandboxes.Process, error) {
		container := guest(t, "terminal")
		container.Process = c
		return p.Start(t.Context(), container, streams)
	})
	if err := trap.Signal(t.Context(), syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if exit, err := trap.Wait(t.Context()); err != nil || exit.Code != 7 || !strings.Contains(out.String(), "terminated") {
		t.Errorf("SIGTERM: %+v %v %s", exit, err, out)
	}
	wait, waiting := begin(t, p, guest(t, "wait", "wait"), nil)
	waiting.waitFor(t, "waiting", wait)
	if err := wait.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if exit, err := wait.Wait(t.Context()); err != nil || exit != (spec.Exit{Code: 137, Signal: syscall.SIGKILL}) {
		t.Errorf("kill: %+v %v", exit, err)
	}
}

func testTerminal(t *testing.T, start func(spec.Process, sandboxes.Streams) (*sandboxes.Process, error)) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	out := newBuffer()
	process, err := start(spec.Process{Args: []string{"/bin/guest", "tty"}, Terminal: true}, sandboxes.Streams{Stdin: reader, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	out.waitFor(t, "size 0x0", process)
	if err := process.Resize(t.Context(), 120, 40); err != nil {
		t.Error(err)
	}
	if _, err := writer.WriteString("\n"); err != nil {
		t.Error(err)
	}
	out.waitFor(t, "size 120x40", process)
	if _, err := writer.WriteString("quit\n"); err != nil {
		t.Error(err)
	}
	if exit, err := process.Wait(t.Context()); err != nil || exit.Code != 0 {
		t.Errorf("terminal: %+v %v %s", exit, err, out)
	}
}
