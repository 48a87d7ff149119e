package owners

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// A host is a folder with what the tests' containers need, which an ordinary user can read.
type host struct {
	dir    string
	runsc  string
	binary string // a copy of the test binary
	root   string // the root of the containers
	user   *syscall.Credential

	directfs bool // sandboxes open files themselves
}

// A container runs operations of testdata/probe on the volume at /data.
type container struct {
	uid, gid   int
	operations []string
	plain      bool // the volume is mounted without MountOption
	exec       bool // the operations run as root in the sandbox's first container, which exists from the start
}

// newHost prepares a folder for a user; nil means root.
func newHost(t testing.TB, user *syscall.Credential) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{
		dir: dir, user: user, root: filepath.Join(dir, "rootfs"),
		runsc: filepath.Join(dir, "runsc"), binary: filepath.Join(dir, "test"),
	}
	for _, folder := range []string{h.root, filepath.Join(h.root, "data"), filepath.Join(h.root, "proc"), filepath.Join(dir, "state"), filepath.Join(dir, "logs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyProgram(t, toolchaintest.Path(t, "runsc"), h.runsc)
	copyProgram(t, "/proc/self/exe", h.binary)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(h.root, "probe"), "./testdata/probe")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if user != nil {
		// The parent of a test's folder belongs to the test's user alone.
		if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
			t.Fatal(err)
		}
		h.own(t, filepath.Join(dir, "state"))
		h.own(t, filepath.Join(dir, "logs"))
	}
	return h
}

// own gives a folder of this machine to the host's user.
func (h *host) own(t testing.TB, path string) {
	t.Helper()
	if h.user == nil {
		return
	}
	if err := os.Chown(path, int(h.user.Uid), int(h.user.Gid)); err != nil {
		t.Fatal(err)
	}
}

// volume returns a new folder of the host's user.
func (h *host) volume(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	h.own(t, path)
	if err := Supported(path); err != nil {
		t.Skip(err)
	}
	return path
}

// run runs containers in a new sandbox, one after the other, and returns what each has printed.
func (h *host) run(t testing.TB, volume string, containers ...container) []string {
	t.Helper()
	runsc := func(args ...string) command {
		return command{Args: append([]string{
			h.runsc, "--root=" + filepath.Join(h.dir, "state"), "--network=sandbox", "--ignore-cgroups", "--host-uds=none",
			"--overlay2=none", fmt.Sprintf("--directfs=%v", h.directfs), "--debug-log=" + filepath.Join(h.dir, "logs") + "/",
		}, args...)}
	}
	// The sandbox's first container waits, so that the sandbox outlives the others.
	const sandbox = "sandbox"
	commands := []command{
		runsc("create", "--bundle="+h.bundle(t, volume, sandbox, "", container{operations: []string{"pause"}, plain: h.directfs}), sandbox),
		runsc("start", sandbox),
	}
	var ends []command
	var printed []int // the commands whose output is that of a container
	for i, c := range containers {
		if c.exec {
			printed = append(printed, len(commands))
			commands = append(commands, runsc(append([]string{"exec", "--user=0:0", sandbox, "/probe"}, c.operations...)...))
			continue
		}
		id := fmt.Sprintf("container-%d", i)
		bundle := h.bundle(t, volume, id, sandbox, c)
		commands = append(commands, runsc("create", "--bundle="+bundle, id))
		printed = append(printed, len(commands)) // a container of an existing sandbox gets the output of its start
		commands = append(commands, runsc("start", id), runsc("wait", id))
		ends = append(ends, runsc("delete", id))
	}
	ends = append(ends, runsc("delete", "--force", sandbox))
	results := run(t, h.binary, h.user, append(commands, ends...))
	for _, result := range results {
		if result.Code != 0 {
			h.log(t)
			t.Fatalf("%s: exit status %d: %s", strings.Join(result.Args[7:], " "), result.Code, result.Output)
		}
	}
	var outputs []string
	for _, i := range printed {
		outputs = append(outputs, results[i].Output)
	}
	return outputs
}

// log prints the ends of the logs of the sandboxes and of the processes that serve their files.
func (h *host) log(t testing.TB) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(h.dir, "logs", "*.[bg]o*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range logs {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", filepath.Base(path), content[max(0, len(content)-1500):])
	}
}

// bundle writes the spec of a container and returns its folder. An empty sandbox means that the container is one.
func (h *host) bundle(t testing.TB, volume, id, sandbox string, c container) string {
	t.Helper()
	annotations := map[string]string{"io.kubernetes.cri.container-type": "sandbox"}
	if sandbox != "" {
		annotations = map[string]string{"io.kubernetes.cri.container-type": "container", "io.kubernetes.cri.sandbox-id": sandbox}
	}
	maps.Copy(annotations, Annotations("data", volume))
	capabilities := []string{}
	if c.uid == 0 {
		capabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_MKNOD"}
	}
	options := []string{"rbind", "rw"}
	if !c.plain {
		options = append(options, MountOption)
	}
	type object = map[string]any
	spec := object{
		"ociVersion": "1.0.2",
		"root":       object{"path": h.root, "readonly": true},
		"process": object{
			"args": append([]string{"/probe"}, c.operations...), "cwd": "/", "env": []string{},
			"user":         object{"uid": c.uid, "gid": c.gid},
			"capabilities": object{"bounding": capabilities, "effective": capabilities, "permitted": capabilities},
		},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": "/data", "type": "bind", "source": volume, "options": options},
		},
		// The network of the first process in the namespaces, as a pod has one.
		"linux":       object{"namespaces": []object{{"type": "network", "path": "/proc/1/ns/net"}}},
		"annotations": annotations,
	}
	dir := filepath.Join(h.dir, "bundle-"+id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}
