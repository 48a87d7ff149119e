package cloud_test

import (
	"bufio"
	"context"
	"database/sql"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// connectionName names the instance of newInstance for connectors.
const connectionName = "strata-local:europe-west1:strata"

// authProxy is a process of the official Cloud SQL Auth Proxy with a Unix socket for clients.
type authProxy struct {
	t      *testing.T
	socket string
	ready  chan struct{} // closed when the proxy is ready
	ended  chan struct{} // closed when the process has ended

	mu     sync.Mutex
	output strings.Builder
}

// authProxy starts the proxy with the credentials file of an account and more flags.
func (c *emulator) authProxy(t *testing.T, key []byte, flags ...string) *authProxy {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return c.startProxy(t, nil, append(flags, "--credentials-file", file)...)
}

// startProxy starts the proxy with environment variables and flags. The end of the test stops it.
func (c *emulator) startProxy(t *testing.T, env []string, flags ...string) *authProxy {
	t.Helper()
	// The path of a Unix socket has at most 104 characters on some systems, so the test's own folder could be too long.
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &authProxy{t: t, socket: filepath.Join(dir, "mysql"), ready: make(chan struct{}), ended: make(chan struct{})}
	endpoint := strings.TrimSuffix(cloud.Endpoints(c.url)["GOOGLE_SQL_CUSTOM_ENDPOINT"], "sql/v1beta4/")
	args := append([]string{
		"--sqladmin-api-endpoint", endpoint,
		"--enable-builtin-metrics=false", // of Google Cloud Monitoring, which is not emulated
	}, flags...)
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, toolchaintest.Path(t, "cloud-sql-proxy"), append(args, connectionName+"?unix-socket-path="+p.socket)...)
	cmd.Env = slices.Concat(env, []string{"HOME=" + dir})
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(reader) })
	go func() {
		_ = cmd.Wait() // The output contains the reason.
		writer.Close()
		reading.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		stop()
		<-p.ended
	})
	return p
}

func (p *authProxy) read(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		p.mu.Lock()
		p.output.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if strings.Contains(lines.Text(), "ready for new connections") {
			close(p.ready)
		}
	}
}

func (p *authProxy) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// open returns a MySQL client behind the proxy, which may or may not be able to connect.
func (p *authProxy) open(user, password, database string) *sql.DB {
	p.t.Helper()
	select {
	case <-p.ready:
	case <-p.ended:
		p.t.Fatalf("the proxy ended: %s", p.said())
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = user, password, "unix", p.socket, database
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		p.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

// newWebDatabase creates the database web with a user of the same name and password on a new instance.
func (c *emulator) newWebDatabase(settings *sqladmin.Settings) (owner *clients, address string) {
	c.t.Helper()
	owner = c.owner()
	address = c.newInstance(owner, settings)
	op, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "web"}).Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Password: "web"}).Do()
	c.waitSQL(owner, op, err)
	return owner, address
}

func TestTheOfficialAuthProxyConnectsWithTheRoleOfAClient(t *testing.T) {
	for name, mode := range map[string]string{
		"in an instance with an authority of its own":                "",
		"in an instance with Google's Certificate Authority Service": "GOOGLE_MANAGED_CAS_CA",
	} {
		t.Run(name, func(t *testing.T) {
			c := newEmulator(t, true)
			c.newWebDatabase(&sqladmin.Settings{IpConfiguration: &sqladmin.IpConfiguration{Ipv4Enabled: true, ServerCaMode: mode}})
			_, key := c.account("client", "roles/cloudsql.client")
			db := c.authProxy(t, key).open("web", "web", "web")
			var version, count string
			for _, statement := range []string{"CREATE TABLE t (id INT PRIMARY KEY, words LONGTEXT)", "INSERT INTO t VALUES (1, REPEAT('word', 500000))"} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.QueryRowContext(t.Context(), "SELECT VERSION(), LENGTH(words) FROM t").Scan(&version, &count); err != nil || count != "2000000" {
				t.Errorf("the server says %s, %s, %v", version, count, err)
			}
		})
	}
}

func TestTheOfficialAuthProxyContinuesAfterARestart(t *testing.T) {
	c := newEmulator(t, true)
	owner, _ := c.newWebDatabase(&sqladmin.Settings{})
	_, key := c.account("client", "roles/cloudsql.client")
	db := c.authProxy(t, key).open("web", "web", "web")
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, restart := range map[string]func(){
		"of the emulator": func() { c.restart(true) },
		"of the server": func() {
			op, err := owner.sql.Instances.Restart(projectID, "strata").Do()
			c.waitSQL(owner, op, err)
		},
	} {
		before := c.serverCA(owner)
		restart()
		// The client learns from the first use of its connection that the restart ended it, and opens another.
		if err := db.PingContext(t.Context()); err != nil {
			t.Errorf("after a restart %s: %v", name, err)
		}
		if c.serverCA(owner) != before {
			t.Errorf("after a restart %s, the instance has another certificate authority", name)
		}
	}
}

func (c *emulator) serverCA(clients *clients) string {
	c.t.Helper()
	settings, err := clients.sql.Connect.Get(projectID, "strata").Do()
	if err != nil {
		c.t.Fatal(err)
	}
	return settings.ServerCaCert.Cert
}

func TestTheOfficialAuthProxyPrintsWhichPermissionIsMissing(t *testing.T) {
	c := newEmulator(t, true)
	_, address := c.newWebDatabase(&sqladmin.Settings{})
	for name, try := range map[string]struct {
		id, role, want string
		flags          []string
	}{
		"an account without roles": {
			id: "nobody", want: "googleapi: Error 403: boss::NOT_AUTHORIZED: Not authorized to access resource. " +
				"Possibly missing permission cloudsql.instances.get on resource instances/strata.",
		},
		"a viewer, which may not connect": {
			id: "viewer", role: "roles/cloudsql.viewer", want: "googleapi: Error 403: boss::NOT_AUTHORIZED: Not authorized to access resource. " +
				"Possibly missing permission cloudsql.instances.connect on resource instances/strata.",
		},
		"a client, which may not log in by its account": {
			id: "client", role: "roles/cloudsql.client", flags: []string{"--auto-iam-authn"}, want: "googleapi: Error 403: boss::NOT_AUTHORIZED: " +
				"Not authorized to access resource. Possibly missing permission cloudsql.instances.login on resource instances/strata.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var roles []string
			if try.role != "" {
				roles = append(roles, try.role)
			}
			_, key := c.account("the-"+try.id, roles...)
			proxy := c.authProxy(t, key, try.flags...)
			select {
			case <-proxy.ended:
			case <-proxy.ready:
				if err := proxy.open("web", "web", "web").PingContext(t.Context()); err == nil {
					t.Error("a client connected")
				}
			}
			if said := proxy.said(); !strings.Contains(said, try.want) {
				t.Errorf("the proxy does not say %q: %s", try.want, said)
			}
		})
	}
	if conn, err := net.Dial("tcp", net.JoinHostPort(address, "3307")); err != nil {
		t.Error("the port for connectors is closed")
	} else {
		conn.Close()
	}
}

func TestTheOfficialAuthProxySendsATokenForLogins(t *testing.T) {
	c := newEmulator(t, true)
	c.newWebDatabase(&sqladmin.Settings{})
	_, key := c.account("client", "roles/cloudsql.client", "roles/cloudsql.instanceUser")
	// The emulator has no database users for accounts, so the client still sends the password of a user.
	if err := c.authProxy(t, key, "--auto-iam-authn").open("web", "web", "web").PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}
