package gcloud_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/local/gcloud/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const (
	childDir     = "GCLOUD_TEST_DIR"
	childAddress = "GCLOUD_TEST_ADDRESS"
	childDolt    = "GCLOUD_TEST_DOLT"
)

// TestEmulatorProcess is no test: it is the emulator in a process of its own, for those that kill it.
func TestEmulatorProcess(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as a child of another test")
	}
	address := os.Getenv(childAddress)
	options := gcloud.Options{Dir: dir, BaseURL: "http://" + address, Clusters: &fakeClusters{}}
	if binary := os.Getenv(childDolt); binary != "" {
		options.Databases = dolt.New(dolt.Options{
			Binary: func(context.Context) (string, error) { return binary, nil },
			Dir:    filepath.Join(dir, "sql"),
			Logs:   filepath.Join(dir, "logs"),
		})
	}
	server, err := gcloud.New(options)
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

// startEmulator starts the emulator as a process and returns when it serves. Without the path of Dolt it has no
// databases.
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

// writer makes things of one kind.
type writer struct {
	kind string
	// write makes the thing with a name and returns by what it can be found.
	write func(*clients, string) (string, error)
	// check looks for it.
	check func(*clients, string) error
}

// killAmidWrites starts an emulator, prepares it, lets all writers write at once, kills it, starts it again and checks
// what was acknowledged.
func killAmidWrites(t *testing.T, dolt string, prepare func(*cloud), writers ...writer) *cloud {
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
				// Each writes until it is not answered any more.
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
	for i := range writers { // all of them are under way
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

func TestKillLosesNothingAcknowledged(t *testing.T) {
	const project = "projects/" + projectID
	var token string
	var client *storage.Service
	account := func(k *clients, id string) (string, error) {
		made, err := k.iam.Projects.ServiceAccounts.Create(project, &iam.CreateServiceAccountRequest{AccountId: id}).Do()
		if err != nil {
			return "", err
		}
		return made.Name, nil
	}
	c := killAmidWrites(t, "",
		func(c *cloud) {
			op, err := c.owner().container.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{
				Cluster: &container.Cluster{Name: "strata", InitialNodeCount: 1},
			}).Do()
			if err != nil {
				t.Fatal(err)
			}
			c.waitCluster(c.owner(), op)
			client = c.storageAs(c.engineer)
			c.newBucket(client, "strata-kept")
			_, key := c.account("team-web", "roles/browser")
			token = c.token(key)
		},
		writer{"service account", account, func(k *clients, name string) error {
			_, err := k.iam.Projects.ServiceAccounts.Get(name).Do()
			return err
		}},
		writer{
			"key",
			func(k *clients, name string) (string, error) {
				name, err := account(k, "key-"+name)
				if err != nil {
					return "", err
				}
				made, err := k.iam.Projects.ServiceAccounts.Keys.Create(name, &iam.CreateServiceAccountKeyRequest{}).Do()
				if err != nil {
					return "", err
				}
				file, err := base64.StdEncoding.DecodeString(made.PrivateKeyData)
				return string(file), err
			},
			func(_ *clients, file string) error {
				_, err := login(t, []byte(file))
				return err
			},
		},
		writer{
			"role",
			func(k *clients, name string) (string, error) {
				made, err := k.iam.Projects.Roles.Create(project, &iam.CreateRoleRequest{RoleId: strings.ReplaceAll(name, "-", "_")}).Do()
				if err != nil {
					return "", err
				}
				return made.Name, nil
			},
			func(k *clients, name string) error { _, err := k.iam.Projects.Roles.Get(name).Do(); return err },
		},
		writer{
			"member",
			func(k *clients, name string) (string, error) {
				member := "user:" + name + "@example.com"
				return member, addMember(k.projects, member, "roles/browser")
			},
			func(k *clients, member string) error {
				policy, err := getPolicy(k.projects, 3)
				if err == nil && !holds(policy, "roles/browser", member) {
					return errors.New("is not in the policy")
				}
				return err
			},
		},
		writer{
			"enabled API",
			func(k *clients, name string) (string, error) {
				name = project + "/services/" + name + ".googleapis.com"
				_, err := k.services.Services.Enable(name, &serviceusage.EnableServiceRequest{}).Do()
				return name, err
			},
			func(k *clients, name string) error {
				found, err := k.services.Services.Get(name).Do()
				if err == nil && found.State != "ENABLED" {
					return errors.New(found.State)
				}
				return err
			},
		},
		writer{
			"node pool",
			func(k *clients, name string) (string, error) {
				_, err := k.container.Projects.Locations.Clusters.NodePools.Create(parent+"/clusters/strata", &container.CreateNodePoolRequest{
					NodePool: &container.NodePool{Name: name, InitialNodeCount: 1},
				}).Do()
				return name, err
			},
			func(k *clients, name string) error {
				_, err := k.container.Projects.Locations.Clusters.NodePools.Get(parent + "/clusters/strata/nodePools/" + name).Do()
				return err
			},
		},
		writer{
			"bucket",
			func(_ *clients, name string) (string, error) {
				_, err := client.Buckets.Insert(projectID, &storage.Bucket{Name: name}).Do()
				return name, err
			},
			func(_ *clients, name string) error { _, err := client.Buckets.Get(name).Do(); return err },
		},
		writer{
			"object",
			func(_ *clients, name string) (string, error) {
				_, err := client.Objects.Insert("strata-kept", &storage.Object{Name: name}).Media(strings.NewReader(name)).Do()
				return name, err
			},
			func(_ *clients, name string) error {
				answer, err := client.Objects.Get("strata-kept", name).Download()
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				data, err := io.ReadAll(answer.Body)
				if err == nil && string(data) != name {
					return fmt.Errorf("has the content %q", data)
				}
				return err
			},
		},
	)
	if status, body := c.ask("GET", projectPath, token, ""); status != http.StatusOK {
		t.Errorf("a token from before is answered with %d %s", status, body)
	}
}

func TestKillLosesNoDatabase(t *testing.T) {
	var host string
	c := killAmidWrites(t, toolchaintest.Path(t, "dolt"),
		func(c *cloud) { host = c.newInstance(c.owner(), &sqladmin.Settings{}) },
		writer{
			"user",
			func(k *clients, name string) (string, error) {
				_, err := k.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: name, Password: name}).Do()
				return name, err
			},
			func(_ *clients, name string) error { _, err := connect(t, host, name, name, ""); return err },
		},
		writer{
			"database",
			func(k *clients, name string) (string, error) {
				_, err := k.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: name}).Do()
				return name, err
			},
			func(k *clients, name string) error {
				_, err := k.sql.Databases.Get(projectID, "strata", name).Do()
				return err
			},
		},
	)
	if again := c.address(c.owner()); again != host {
		t.Errorf("the instance listens on %s, was %s", again, host)
	}
}
