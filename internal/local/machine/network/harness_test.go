package network

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
)

var (
	gatewayIP  = netip.MustParseAddr("10.244.0.1")
	dnsIP      = netip.MustParseAddr("10.96.0.10")
	gatewayMAC = net.HardwareAddr{2, 0, 0, 0, 0, 1}
)

// deadline bounds every wait of a test. Tests end early when the condition holds.
const deadline = time.Minute

// open returns a gateway with the ranges that kubeadm uses. The test's clean-up closes it.
func open(t testing.TB, change func(*Options)) *Gateway {
	t.Helper()
	o := Options{Address: gatewayIP, Pods: netip.MustParsePrefix("10.244.0.0/16"), Services: netip.MustParsePrefix("10.96.0.0/12"),
		DNS: dnsIP, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func ip(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 244, 0, byte(n)}) }

func mac(n int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 1, byte(n)} }

// attach attaches pod number n, with the name pod-n in the namespace default and the label app=pod-n.
func attach(t testing.TB, g *Gateway, n int) *networktest.Pod {
	t.Helper()
	pod, endpoint := networktest.New(t, ip(n), mac(n), gatewayMAC, MTU)
	name := fmt.Sprintf("pod-%d", n)
	if err := g.Attach(t.Context(), Pod{Namespace: "default", Name: name, Labels: labels.Set{"app": name}, IP: ip(n), MAC: mac(n)}, endpoint); err != nil {
		t.Fatal(err)
	}
	return pod
}

// at returns an address from text such as 10.244.0.2:80.
func at(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

// answer serves a port of a pod: it answers each connection with a prefix and all that the client sends.
func answer(t testing.TB, pod *networktest.Pod, port uint16, prefix string) {
	t.Helper()
	l := pod.Listen(t, port)
	go serveStreams(l, prefix)
}

func serveStreams(l net.Listener, prefix string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			request, err := io.ReadAll(conn)
			if err == nil {
				_, _ = conn.Write(append([]byte(prefix+" "+conn.RemoteAddr().(*net.TCPAddr).IP.String()+" "), request...))
			}
		}()
	}
}

// ask connects from a pod, sends a text, ends that direction, and returns the answer.
func ask(t testing.TB, pod *networktest.Pod, to netip.AddrPort, text string) (string, error) {
	t.Helper()
	conn, err := pod.Dial(t.Context(), "tcp", to)
	if err != nil {
		return "", err
	}
	return exchange(conn, text)
}

func exchange(conn net.Conn, text string) (string, error) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return "", err
	}
	all, err := io.ReadAll(conn)
	return string(all), err
}

// echoPackets answers UDP packets of a pod's port with a prefix, the client's IP address and the packet.
func echoPackets(t testing.TB, pod *networktest.Pod, port uint16, prefix string) {
	t.Helper()
	conn := pod.ListenUDP(t, port)
	go func() {
		buffer := make([]byte, 65535)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			host, _, _ := net.SplitHostPort(from.String())
			_, _ = conn.WriteTo(bytes.Join([][]byte{[]byte(prefix + " " + host + " "), buffer[:n]}, nil), from)
		}
	}()
}

// send sends one packet from a pod, and returns the answer.
func send(t testing.TB, pod *networktest.Pod, to netip.AddrPort, text string) (string, error) {
	t.Helper()
	conn, err := pod.Dial(t.Context(), "udp", to)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		return "", err
	}
	buffer := make([]byte, 65535)
	n, err := conn.Read(buffer)
	return string(buffer[:n]), err
}

// service returns a Service of namespace default with one port, and its EndpointSlice with the addresses of pods.
func service(name, clusterIP string, port, target int32, protocol corev1.Protocol, pods ...int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.ServiceSpec{ClusterIP: clusterIP, Ports: []corev1.ServicePort{{Name: "main", Port: port, Protocol: protocol}}}}
	portName := "main"
	e := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-1",
		Labels: map[string]string{discoveryv1.LabelServiceName: name}}, AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &target, Protocol: &protocol}}}
	for _, n := range pods {
		e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip(n).String()},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: fmt.Sprintf("pod-%d", n)}})
	}
	return s, e
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// state returns a State with Services and their EndpointSlices.
func (s State) with(service *corev1.Service, endpoints *discoveryv1.EndpointSlice) State {
	s.Services = append(s.Services, service)
	s.EndpointSlices = append(s.EndpointSlices, endpoints)
	return s
}

// endpoint returns an endpoint that is no pod.
func endpoint(address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}}
}
