package network

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	pods "github.com/strata-platform/strata/internal/local/machine/network/link"
)

// podVariable marks a process as the pod of TestAnOrdinaryProgramInANetworkNamespace. Its value
// contains the addresses of a server on the host.
const podVariable = "STRATA_TEST_NETWORK_POD"

func TestMain(m *testing.M) {
	if hosts := os.Getenv(podVariable); hosts != "" {
		if err := runPod(hosts); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// transfer is the number of bytes that the pod sends in one connection.
const transfer = 64 << 20

// TestAnOrdinaryProgramInANetworkNamespace connects a process with the kernel's sockets, in namespaces of its own, as the
// pods of the node are connected: by a veth pair, with the gateway's end behind a packet socket.
func TestAnOrdinaryProgramInANetworkNamespace(t *testing.T) {
	g := open(t, func(o *Options) { o.Upstream = hostile })
	three := attach(t, g, 3)
	answer(t, three, 80, "three")
	echoPackets(t, three, 53, "three")
	web, endpoints := service("web", "10.96.1.1", 80, 80, corev1.ProtocolTCP, 3)
	g.Update(State{}.with(web, endpoints))
	sums := make(chan string, 1)
	sink := three.Listen(t, 81)
	go func() {
		conn, err := sink.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		hash := sha256.New()
		_, _ = io.Copy(hash, conn)
		sums <- fmt.Sprintf("%x", hash.Sum(nil))
	}()
	host, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	go serveStreams(host, "host")
	port := host.Addr().(*net.TCPAddr).AddrPort().Port()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, a := range addresses {
		hosts = append(hosts, netip.AddrPortFrom(netip.MustParsePrefix(a.String()).Addr(), port).String())
	}

	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	own, theirs := os.NewFile(uintptr(pair[0]), "own"), os.NewFile(uintptr(pair[1]), "theirs")
	defer own.Close()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), podVariable+"="+strings.Join(hosts, " "))
	command.ExtraFiles = []*os.File{theirs}
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("start a process in namespaces of its own: %v", err)
	}
	theirs.Close()
	packets := receive(t, pair[0])
	endpoint, err := pods.Open(packets, gatewayMAC, MTU)
	packets.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Attach(t.Context(), Pod{Namespace: "default", Name: "pod-2", IP: ip(2), MAC: mac(2)}, endpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		got[name] = value
		if name == "listening" {
			conn, err := g.Dial(t.Context(), named("pod-2"), 80)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := exchange(conn, "hello"); err != nil || text != "pod 10.244.0.1 hello" {
				t.Errorf("the pod answers the host with %q, %v", text, err)
			}
			// The pod ends after this.
			if _, err := own.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the pod ended with %v: %v", err, got["error"])
	}
	for name, want := range map[string]string{
		"service":  "three 10.244.0.2 hello",
		"packet":   "three 10.244.0.2 hello",
		"name":     "[10.96.1.1]",
		"rebound":  "[1.1.1.1]",
		"host":     "[]",
		"transfer": <-sums,
	} {
		if got[name] != want {
			t.Errorf("%s: %q; want %q", name, got[name], want)
		}
	}
	t.Logf("the pod sent %d MiB in %s", transfer>>20, got["seconds"])
	g.Detach("default", "pod-2")
}

// receive takes the descriptor of the packet socket.
func receive(t *testing.T, from int) *os.File {
	t.Helper()
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		t.Fatalf("the pod sent no packet socket: %d messages, %v", len(messages), err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(descriptors[0]), "packets")
}

// runPod is the main of the pod. It prints a line for each result: a name and a value.
func runPod(hosts string) error {
	socket, err := createLink()
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(3, []byte{1}, unix.UnixRights(socket), nil, 0); err != nil {
		return err
	}
	if _, err := unix.Read(3, make([]byte, 1)); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "0.0.0.0:80")
	if err != nil {
		return err
	}
	go serveStreams(l, "pod")
	dialer := net.Dialer{Timeout: deadline}
	conn, err := dialer.Dial("tcp", "10.96.1.1:80")
	if err != nil {
		return err
	}
	text, err := exchange(conn, "hello")
	if err != nil {
		return err
	}
	fmt.Println("service", text)
	if conn, err = dialer.Dial("udp", "10.244.0.3:53"); err != nil {
		return err
	}
	buffer := make([]byte, 100)
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err
	}
	n, err := conn.Read(buffer)
	if err != nil {
		return err
	}
	fmt.Println("packet", string(buffer[:n]))
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, netip.AddrPortFrom(dnsIP, 53).String())
	}}
	for name, host := range map[string]string{"name": "web.default.svc.cluster.local.", "rebound": "rebinding.example.com."} {
		found, err := resolver.LookupHost(context.Background(), host)
		if err != nil {
			return err
		}
		fmt.Println(name, found)
	}
	reached := []string{}
	for address := range strings.FieldsSeq(hosts) {
		// The link drops the packets to some of these addresses, so a connection to them never ends by itself.
		if conn, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", address); err == nil {
			conn.Close()
			reached = append(reached, address)
		}
	}
	fmt.Println("host", reached)
	if err := upload(dialer); err != nil {
		return err
	}
	// The test connects when it reads this line, and its connection ends before the process does.
	fmt.Println("listening on port 80")
	_, err = unix.Read(3, make([]byte, 1))
	return err
}

func upload(dialer net.Dialer) error {
	began := time.Now()
	conn, err := dialer.Dial("tcp", "10.244.0.3:81")
	if err != nil {
		return err
	}
	hash := sha256.New()
	chunk := []byte(strings.Repeat("0123456789abcdef", 64<<10))
	for sent := 0; sent < transfer; sent += len(chunk) {
		hash.Write(chunk)
		if _, err := conn.Write(chunk); err != nil {
			return err
		}
	}
	if _, err := exchange(conn, ""); err != nil {
		return err
	}
	fmt.Printf("transfer %x\n", hash.Sum(nil))
	fmt.Println("seconds", time.Since(began))
	return nil
}
