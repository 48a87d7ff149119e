package gcloud_test

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

	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/local/gcloud/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const (
	childDir     = "GCLOUD_TEST_DIR"
	childAddress = "GCLOUD_TEST_ADDRESS"
	childDolt    = "GCLOUD_TEST_DOLT"
)

// TestEmulatorProcess is no test: it is the emulator in a process of its own, for TestKillLosesNothingAcknowledged.
func TestEmulatorProcess(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as a child of another test")
	}
	address := os.Getenv(childAddress)
	server, err := gcloud.New(gcloud.Options{Dir: dir, BaseURL: "http://" + address, Databases: dolt.New(dolt.Options{
		Binary: func(context.Context) (string, error) { return os.Getenv(childDolt), nil },
		Dir:    filepath.Join(dir, "sql"),
		Logs:   filepath.Join(dir, "logs"),
	})})
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

// startEmulator starts the emulator as a process and returns when it serves.
func startEmulator(t *testing.T, dir, address, binary string) (*cloud, *exec.Cmd) {
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
			c := &cloud{t: t, dir: dir, url: "http://" + address}
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

func TestKillLosesNothingAcknowledged(t *testing.T) {
	binary := toolchaintest.Path(t, "dolt")
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := reserved.Addr().String()
	reserved.Close()
	dir := t.TempDir()

	c, child := startEmulator(t, dir, address, binary)
	owner := c.owner()
	host := c.newInstance(owner, &sqladmin.Settings{})
	accounts, users, databases := make(chan string, 1000), make(chan string, 1000), make(chan string, 1000)
	// Each writer writes until it is not answered any more.
	for acknowledged, write := range map[chan string]func(string) error{
		accounts: func(name string) error {
			_, err := owner.iam.Projects.ServiceAccounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: name}).Do()
			return err
		},
		users: func(name string) error {
			_, err := owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: name, Password: name}).Do()
			return err
		},
		databases: func(name string) error {
			_, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: name}).Do()
			return err
		},
	} {
		go func() {
			defer close(acknowledged)
			for i := range cap(acknowledged) {
				name := fmt.Sprintf("writer-%d", i)
				if write(name) != nil {
					return
				}
				acknowledged <- name
			}
		}()
	}
	for range 10 { // the writers are under way
		<-accounts
		<-users
		<-databases
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	c, _ = startEmulator(t, dir, address, binary)
	owner = c.owner()
	if again := c.address(owner); again != host {
		t.Errorf("the instance listens on %s, was %s", again, host)
	}
	for name := range accounts {
		if _, err := owner.iam.Projects.ServiceAccounts.Get("projects/-/serviceAccounts/" + name + "@" + projectID + ".iam.gserviceaccount.com").Do(); err != nil {
			t.Errorf("account %s: %v", name, err)
		}
	}
	for name := range users {
		if _, err := connect(t, host, name, name, ""); err != nil {
			t.Errorf("user %s: %v", name, err)
		}
	}
	for name := range databases {
		if _, err := owner.sql.Databases.Get(projectID, "strata", name).Do(); err != nil {
			t.Errorf("database %s: %v", name, err)
		}
	}
}
