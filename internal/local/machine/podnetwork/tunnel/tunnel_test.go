package tunnel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// clientVariable makes the test binary a client of the socket that it names. It ends with 0 if the socket answers.
const clientVariable = "TUNNEL_TEST_SOCKET"

func TestMain(m *testing.M) {
	if socket := os.Getenv(clientVariable); socket != "" {
		status, err := connect(socket, "10.128.0.2:80")
		fmt.Println(status, err)
		if err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// connect asks for a tunnel to an address, and returns the status line.
func connect(socket, address string) (string, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", address); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.Status, nil
	}
	if _, err := io.WriteString(conn, "hello"); err != nil {
		return "", err
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return "", err
	}
	rest, err := io.ReadAll(r)
	return string(rest), err
}

// echo listens on a loopback address and answers with what it reads.
func echo(t *testing.T, prefix string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				text, _ := io.ReadAll(conn)
				_, _ = io.WriteString(conn, prefix+string(text))
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// serve serves a socket for the process with a PID until the end of the test. Pods are at 10.128.0.2.
func serve(t *testing.T, client int) (socket string, node netip.AddrPort) {
	t.Helper()
	// Other users may look into the folder, so only the socket's own mode keeps them out.
	dir, err := os.MkdirTemp("", "tunnel-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "pods.sock")
	l, err := home.ListenUnix(socket)
	if err != nil {
		t.Fatal(err)
	}
	pod, node := echo(t, "the pod read "), echo(t, "the node read ")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Serve(ctx, l, Options{
			Client: func() int { return client },
			Node:   func() (netip.AddrPort, error) { return node, nil },
			Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				if to.String() != "10.128.0.2:80" {
					return nil, errors.New("no pod\nhas this address")
				}
				return new(net.Dialer).DialContext(ctx, "tcp", pod.String())
			},
			Log: slog.New(slog.DiscardHandler),
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return socket, node
}

func TestTheTunnelLeadsToPodsAndTheNodeOnly(t *testing.T) {
	socket, node := serve(t, os.Getpid())
	other := echo(t, "a secret ")
	for name, c := range map[string]struct{ address, want string }{
		"a pod":                          {"10.128.0.2:80", "the pod read hello"},
		"the node's API":                 {node.String(), "the node read hello"},
		"another port of this machine":   {other.String(), "502 no pod; has this address"},
		"the node under a mapped name":   {fmt.Sprintf("[::ffff:127.0.0.1]:%d", node.Port()), "502 no pod; has this address"},
		"a name":                         {"localhost:80", `502 connect to "localhost:80": it is not an IP address with a port: use a Service with an address`},
		"another address of the outside": {"192.0.2.1:80", "502 no pod; has this address"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := connect(socket, c.address); err != nil || got != c.want {
				t.Errorf("the tunnel answers %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestOnlyTheAPIServerUsesTheSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the PID of a socket's peer")
	}
	socket, _ := serve(t, os.Getpid())
	run := func(t *testing.T, credential *syscall.Credential) string {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if credential != nil {
			// The test binary's folder may be closed to others.
			program = readable(t, program)
		}
		cmd := exec.Command(program)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), clientVariable+"="+socket)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("the tunnel answers another process: %s", out)
		}
		return string(out)
	}
	t.Run("not another process of the same user", func(t *testing.T) {
		if out := run(t, nil); strings.Contains(out, "permission denied") {
			t.Errorf("the process fails before the tunnel rejects it: %s", out)
		}
	})
	t.Run("not another user", func(t *testing.T) {
		info, err := os.Stat(socket)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket's mode is %v, %v", info.Mode(), err)
		}
		if os.Getuid() != 0 {
			return // An ordinary user cannot become another one; the mode decides.
		}
		if out := run(t, &syscall.Credential{Uid: 65534, Gid: 65534}); !strings.Contains(out, "permission denied") {
			t.Errorf("the other user gets %q, want permission denied", out)
		}
	})
	if got, err := connect(socket, "10.128.0.2:80"); err != nil || got != "the pod read hello" {
		t.Errorf("the API server gets %q, %v", got, err)
	}
}

// readable returns a copy of a program that every user can start.
func readable(t *testing.T, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tunnel-client-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "client")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, content, 0o700), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}
