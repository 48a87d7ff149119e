package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/assemble"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/test/long"
)

// These variables give the test the command and the images that another test has built for it: see
// TestSandboxedPodsOfAnOrdinaryUser.
const (
	commandVariable = "STRATA_E2E_COMMAND"
	imagesVariable  = "STRATA_E2E_IMAGES"
)

// TestSandboxedPods runs a script about sandboxed pods on a platform of its own, as the user of the test.
func TestSandboxedPods(t *testing.T) {
	long.Test(t)
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	t.Parallel()
	build(t)
	file := os.Getenv(imagesVariable)
	if file == "" {
		file = filepath.Join(t.TempDir(), "images.tar")
		writeImages(t, file)
	}
	ensureTools(t)
	p := params("testdata/sandboxed")
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("IMAGES", file)
		return setup(env)
	}
	p.Cmds["machine"], p.Cmds["lose"], p.Cmds["visit"] = rememberMachine, lose, visit
	testscript.RunT(script{T: t}, p)
}

// writeImages writes a bundle with the image of the scripts, the program that the tests of the node run in their pods.
func writeImages(t *testing.T, path string) {
	t.Helper()
	const reference = "registry.strata.local/team-web/page:v1"
	program := filepath.Join(t.TempDir(), "app")
	command := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "./internal/local/machine/node/testdata/app")
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the program of the pods: %v\n%s", err, out)
	}
	image, err := assemble.Image(assemble.Program{Path: program, Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := images.Open(filepath.Join(t.TempDir(), "images"), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.Put(t.Context(), store.Store(), reference, image); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := bundle.Export(t.Context(), store.Store(), file, reference); err != nil {
		t.Fatal(err)
	}
}

// lose: lose helper|supervisor — kills the process that hosts the sandboxes, or the supervisor, with SIGKILL, and waits until all
// processes of the sandboxes have ended. It stores these processes and the home's ports for nothingleft.
func lose(ts *testscript.TestScript, _ bool, args []string) {
	h, err := home.At(ts.Getenv("STRATA_HOME"))
	ts.Check(err)
	supervisor := h.Holder()
	if supervisor <= 1 {
		ts.Fatalf("the supervisor of %s is unknown", h.Dir())
	}
	host, all := sandboxes(supervisor)
	if host <= 1 || len(all) < 3 {
		ts.Fatalf("supervisor %d has the sandboxes' host %d with the processes %q, want those of a pod", supervisor, host, all)
	}
	m := ts.Value(machineKey{}).(*machine)
	for _, id := range all {
		m.processes[id] = true
	}
	*ts.Value(portsKey{}).(*map[string]int), err = portsOf(filepath.Join(h.Dir(), "home.json"))
	ts.Check(err)
	victim := map[string]int{"helper": host, "supervisor": supervisor}[args[0]]
	began := time.Now()
	ts.Check(syscall.Kill(victim, syscall.SIGKILL))
	for deadline := began.Add(2 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		var left []string
		for _, id := range all {
			if lives(id) {
				left = append(left, id)
			}
		}
		if len(left) == 0 {
			ts.Logf("%d processes of sandboxes have ended %s after kill -9 of the %s", len(all), time.Since(began).Round(time.Millisecond), args[0])
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("two minutes after kill -9 of the %s these processes run: %q", args[0], left)
		}
	}
}

// address matches the address in the output of port-forward and open.
var address = regexp.MustCompile(`http://(127\.0\.0\.1|page\.team-web\.localhost):[0-9]+/`)

// visit: visit PAGE TEXT ARGS... — calls strata, which prints an address and waits. The page at that address, plus PAGE, must contain
// TEXT. The call must end after an interrupt with the exit code 0, and the address with it. It prints what the call has printed
// to standard output, and the address to standard error.
func visit(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(strataDir, "strata"), args[2:]...)
	command.Dir, command.Stderr = ts.MkAbs("."), ts.Stderr()
	for _, name := range []string{"PATH", "HOME", "STRATA_HOME", "TMPDIR", "XDG_CACHE_HOME", "BROWSER"} {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := command.StdoutPipe()
	ts.Check(err)
	ts.Check(command.Start())
	var printed strings.Builder
	url := ""
	output := bufio.NewReader(stdout)
	for url == "" {
		line, err := output.ReadString('\n')
		printed.WriteString(line)
		if url = address.FindString(line); err != nil {
			break
		}
	}
	var text []byte
	err = fmt.Errorf("strata %s printed %q, and no address", strings.Join(args[2:], " "), printed.String())
	if url != "" {
		text, err = fetch(ctx, url+args[0])
	}
	_ = command.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(output)
	printed.Write(rest)
	ended := command.Wait()
	ts.Check(err)
	if !strings.Contains(string(text), args[1]) {
		ts.Fatalf("%s answers %q, want %q", url+args[0], text, args[1])
	}
	if ended != nil {
		ts.Fatalf("after an interrupt, strata %s ended with %v, want 0", strings.Join(args[2:], " "), ended)
	}
	if _, err := fetch(ctx, url); err == nil {
		ts.Fatalf("%s answers after the end of the call", url)
	}
	fmt.Fprint(ts.Stdout(), printed.String())
	fmt.Fprintln(ts.Stderr(), url)
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	// Names below localhost are this machine's, as for browsers. Not every resolver knows them.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}
