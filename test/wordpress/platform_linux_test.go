package wordpress_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/images"
	stored "github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/link"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// The names of examples/wordpress/wordpress.yaml.
const (
	reference = "docker.io/library/wordpress:7.1.0-php8.4-apache"
	wwwData   = 33
	site      = "/var/www/html"
	password  = "secret-of-the-test"
	// readyTimeout is how long the page may take to answer, and probeEvery the time between probes.
	readyTimeout = 2 * time.Minute
	probeEvery   = 50 * time.Millisecond
)

var (
	// database is the address at which the pod finds the database, in place of the proxy of the example.
	database = netip.MustParseAddrPort("10.96.0.7:3306")
	podName  = types.NamespacedName{Namespace: "team-web", Name: "wordpress"}
)

// image returns the image under its reference, from a store of the test.
func image(t *testing.T) stored.Image {
	t.Helper()
	folder, err := images.Recipe("wordpress")
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := debian.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	builder, err := debian.NewBuilder(debian.Options{Report: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	assembled, err := builder.Image(t.Context(), recipe)
	if err != nil {
		t.Fatal(err)
	}
	home, err := stored.Open(t.TempDir(), stored.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.Put(t.Context(), home.Store(), recipe.Reference, assembled); err != nil {
		t.Fatal(err)
	}
	image, err := home.Get(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// startDatabase starts the server of a Cloud SQL instance, with the database and user of a team, and returns its address.
func startDatabase(t *testing.T) string {
	t.Helper()
	binary := toolchaintest.Path(t, "dolt")
	dir := t.TempDir()
	runtime := dolt.New(dolt.Options{
		Binary: func(context.Context) (string, error) { return binary, nil },
		Dir:    filepath.Join(dir, "sql"), Logs: filepath.Join(dir, "logs"),
	})
	const instance = "strata-local/strata"
	server, err := runtime.Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runtime.Stop(instance); err != nil {
			t.Error(err)
		}
	})
	for _, statement := range []string{"CREATE DATABASE web_wordpress", "CREATE USER 'web'@'%' IDENTIFIED BY '" + password + "'",
		"GRANT ALL PRIVILEGES ON web_wordpress.* TO 'web'@'%'"} {
		if _, err := server.Root().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return server.Address() + ":3306"
}

// platform runs the pod of WordPress.
type platform struct {
	host    *sandboxes.Host
	gateway *network.Gateway
	image   stored.Image
	pod     *sandboxes.Pod
	main    *sandboxes.Process
	log     *output
}

// start starts the parts of a platform that the pod needs.
func start(t *testing.T, db string) *platform {
	t.Helper()
	p := &platform{image: image(t), log: &output{}}
	host, err := sandboxes.Start(t.Context(), sandboxes.Options{Runsc: toolchaintest.Path(t, "runsc"), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	p.host = host
	p.gateway, err = network.New(network.Options{
		Address: netip.MustParseAddr("10.0.0.1"), Pods: netip.MustParsePrefix("10.0.0.0/16"), Services: netip.MustParsePrefix("10.96.0.0/16"),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.gateway.Close)
	p.gateway.ServeAddress(database, func(ctx context.Context, _ network.Request) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", db)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the pod's log:\n" + p.log.String())
		}
	})
	return p
}

// run starts the pod with the settings of the example.
func (p *platform) run(t *testing.T) {
	t.Helper()
	const address, mac = "10.0.0.2", "02:00:00:00:00:02"
	pod, wire, err := p.host.CreatePod(t.Context(), spec.Pod{ID: "wordpress",
		Network:     spec.Network{Address: netip.MustParsePrefix(address + "/16"), Gateway: netip.MustParseAddr("10.0.0.1"), MAC: mac, MTU: network.MTU},
		Sysctls:     map[string]string{"net.ipv4.ip_unprivileged_port_start": "0"},
		Memory:      []spec.Memory{{Name: "site"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	p.pod = pod
	t.Cleanup(func() { p.kill(t) })
	endpoint, err := link.Open(wire, net.HardwareAddr{2, 0, 0, 0, 0, 1}, network.MTU)
	if err != nil {
		t.Fatal(err)
	}
	own, err := net.ParseMAC(mac)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.gateway.Attach(t.Context(), network.Pod{Namespace: podName.Namespace, Name: podName.Name, IP: netip.MustParseAddr(address), MAC: own}, endpoint); err != nil {
		t.Fatal(err)
	}
	c := p.image.Config
	p.main, err = pod.Start(t.Context(), spec.Container{ID: "wordpress", RootFS: spec.RootFS{Image: p.image.Path},
		Mounts: []spec.Mount{{Kind: spec.Shared, Source: "site", Target: site}},
		Limits: spec.Limits{Memory: 512 << 20},
		Process: spec.Process{Args: append(c.Entrypoint, c.Cmd...), Cwd: c.WorkingDir, UID: wwwData, GID: wwwData, Groups: []uint32{wwwData}, NoNewPrivileges: true,
			Env: append(c.Env, "WORDPRESS_DB_HOST="+database.String(), "WORDPRESS_DB_NAME=web_wordpress", "WORDPRESS_DB_USER=web", "WORDPRESS_DB_PASSWORD="+password)},
	}, sandboxes.Streams{Stdout: p.log, Stderr: p.log})
	if err != nil {
		t.Fatal(err)
	}
}

// kill ends the pod.
func (p *platform) kill(t *testing.T) {
	t.Helper()
	p.gateway.Detach(podName.Namespace, podName.Name)
	if err := p.pod.Remove(context.Background()); err != nil {
		t.Error(err)
	}
}

// forward makes the pod's port 80 available on this machine, as `strata port-forward` does, and returns the address.
func (p *platform) forward(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := p.gateway.Dial(context.Background(), podName, 80)
				if err != nil {
					return // The client sees a closed connection.
				}
				defer server.Close()
				go func() {
					_, _ = io.Copy(server, client) // It ends when one side closes.
					server.Close()
				}()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// wait waits until the page answers, as the readiness probe of the example does.
func (p *platform) wait(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		answer := "nothing"
		if response, err := http.Get(url + "/wp-admin/install.php"); err == nil {
			response.Body.Close()
			if answer = response.Status; response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-p.main.Done():
			t.Fatal("the container has ended")
		case <-ctx.Done():
			t.Fatalf("within %s the page answers with %s", readyTimeout, answer)
		case <-ticker.C:
		}
	}
}

// output is a writer that tests can read while others write.
type output struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.content.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.content.String()
}
