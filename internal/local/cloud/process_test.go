package cloud_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
)

const (
	childDir     = "GCLOUD_TEST_DIR"
	childAddress = "GCLOUD_TEST_ADDRESS"
	childDolt    = "GCLOUD_TEST_DOLT"
)

// TestEmulatorProcess is not a test. Tests that kill the emulator run it as a process of its own.
func TestEmulatorProcess(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as a child of another test")
	}
	address := os.Getenv(childAddress)
	options := cloud.Options{Dir: dir, BaseURL: "http://" + address, Clusters: &fakeClusters{}}
	if binary := os.Getenv(childDolt); binary != "" {
		options.Databases = dolt.New(dolt.Options{
			Binary: func(context.Context) (string, error) { return binary, nil },
			Dir:    filepath.Join(dir, "sql"),
			Logs:   filepath.Join(dir, "logs"),
		})
	}
	server, err := cloud.New(options)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := server.EnsureProject(projectID, engineer)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "engineer.json"), credential, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	t.Fatal(http.Serve(listener, server))
}

// startEmulator starts the emulator as a process and returns when it serves. Without a path of Dolt, the emulator has
// no databases.
func startEmulator(t *testing.T, dir, address, binary string) (*emulator, *exec.Cmd) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestEmulatorProcess$")
	child.Env = append(os.Environ(), childDir+"="+dir, childAddress+"="+address, childDolt+"="+binary)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			c := &emulator{t: t, dir: dir, url: "http://" + address}
			if c.engineer, err = os.ReadFile(filepath.Join(dir, "engineer.json")); err != nil {
				t.Fatal(err)
			}
			return c, child
		}
		t.Log(lines.Text())
	}
	t.Fatal("the emulator did not start")
	return nil, nil
}

// writer creates objects of one kind.
type writer struct {
	kind string
	// write creates the object with a name and returns an identifier for check.
	write func(*clients, string) (string, error)
	// check looks for the object.
	check func(*clients, string) error
}

// killAmidWrites starts an emulator, prepares it, and kills it while all writers write concurrently. After a restart,
// it checks the acknowledged writes.
func killAmidWrites(t *testing.T, dolt string, prepare func(*emulator), writers ...writer) *emulator {
	t.Helper()
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := reserved.Addr().String()
	reserved.Close()
	dir := t.TempDir()

	c, child := startEmulator(t, dir, address, dolt)
	prepare(c)
	owner := c.owner()
	acknowledged := make([]chan string, len(writers))
	for i, w := range writers {
		acknowledged[i] = make(chan string, 1000)
		go func() {
			defer close(acknowledged[i])
			for n := range cap(acknowledged[i]) {
				// Each writer writes until the emulator no longer responds.
				made, err := w.write(owner, fmt.Sprintf("writer-%d", n))
				if err != nil {
					if code(err) != 0 {
						t.Errorf("%s writer-%d: %v", w.kind, n, err)
					}
					return
				}
				acknowledged[i] <- made
			}
		}()
	}
	first := make([][]string, len(writers))
	for i := range writers { // wait until all writers are writing
		for range 5 {
			first[i] = append(first[i], <-acknowledged[i])
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	c, _ = startEmulator(t, dir, address, dolt)
	owner = c.owner()
	for i, w := range writers {
		made := first[i]
		for one := range acknowledged[i] {
			made = append(made, one)
		}
		for _, one := range made {
			if err := w.check(owner, one); err != nil {
				t.Errorf("%s %s: %v", w.kind, one, err)
			}
		}
		t.Logf("%s: %d were acknowledged", w.kind, len(made))
	}
	return c
}
