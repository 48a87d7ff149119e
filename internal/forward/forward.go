package forward

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go takes the types of this package
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/strata-platform/strata/operator/accept"
)

// Forward is a listener on a loopback port, whose connections lead to a target.
type Forward struct {
	target   Target
	config   *rest.Config
	client   kubernetes.Interface
	listener net.Listener
}

// Query is what a person asks for.
type Query struct {
	// Name and Port are those of Find.
	Name, Port string
	// Local is the port of this machine. Zero means the usual one of the target, or a free one.
	Local int
}

// Parse parses a name and perhaps [LOCAL:]PORT.
func Parse(args []string) (Query, error) {
	q := Query{Name: args[0]}
	if len(args) == 1 {
		return q, nil
	}
	before, after, both := strings.Cut(args[1], ":")
	if !both {
		q.Port = before
		return q, nil
	}
	local, err := strconv.ParseUint("0"+before, 10, 16)
	if err != nil {
		return q, fmt.Errorf("the local port %q is not a number up to 65535", before)
	}
	q.Local, q.Port = int(local), after
	return q, nil
}

// Result is a target and its address.
type Result struct {
	// URL is an address of this machine that leads to the target.
	URL string `json:"url"`
	Target
}

// Result describes the forward.
func (f *Forward) Result() Result { return f.target.Result(f.listener.Addr().String()) }

// Page describes the forward for a browser: the host in the address is the target's own, and browsers resolve it to this machine.
// A browser sends the cookies of a host to all ports of the host, so at 127.0.0.1 the pages of one team would get the logins to
// those of another.
func (f *Forward) Page() Result {
	_, port, _ := net.SplitHostPort(f.listener.Addr().String())
	return f.target.Result(net.JoinHostPort(f.target.host(), port))
}

// host returns the host of the target's page. No host of a target in another namespace shares its domain below localhost.
func (t Target) host() string { return t.Name + "." + t.Namespace + ".localhost" }

// Result returns the target with an address HOST:PORT.
func (t Target) Result(address string) Result { return Result{t.URL(address), t} }

// maxConnections bounds the open connections of a Forward.
const maxConnections = 256

// Listen listens on a loopback port. If port is 0, it listens on the usual port of the target, or on a free one while another
// program uses that. The caller must call Serve.
func Listen(config *rest.Config, target Target, port int) (*Forward, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var listener net.Listener
	for _, each := range target.ports(port) {
		if listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(each))); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on port %d of this machine: %w: give another port, or 0 for a free port", port, err)
	}
	return &Forward{target: target, config: config, client: client, listener: listener}, nil
}

// The usual ports of targets are below those that homes reserve, and those that systems assign to clients.
const firstUsual, usual = 10000, 5000

// ports returns the local ports to try for a target. Applications such as WordPress keep the address at which they were
// installed, and redirect to it, so a target has a usual port, which is the same for every call.
func (t Target) ports(wanted int) []int {
	if wanted != 0 {
		return []int{wanted}
	}
	hash := fnv.New32a()
	fmt.Fprint(hash, t.Kind, "/", t.Namespace, "/", t.Name, ":", t.Port)
	return []int{firstUsual + int(hash.Sum32()%usual), 0}
}

// Serve forwards connections until ctx is done, and then closes all of them. Each connection leads to a pod that is ready when
// it opens, so a new pod takes over from one that has ended. failed gets the error of a connection.
func (f *Forward) Serve(ctx context.Context, failed func(error)) {
	report := func(err error) {
		if ctx.Err() == nil {
			failed(fmt.Errorf("forward a connection to %s: %w", f.target, err))
		}
	}
	accept.Loop{Places: maxConnections, Failed: report, Serve: func(ctx context.Context, conn net.Conn) {
		if err := f.connect(ctx, conn); err != nil {
			report(err)
		}
	}}.Run(ctx, f.listener)
}

// connect connects one client with a pod.
func (f *Forward) connect(ctx context.Context, client net.Conn) error {
	pod, port, err := f.target.endpoint(ctx, f.client)
	if err != nil {
		return err
	}
	dialer, err := f.dialer(pod)
	if err != nil {
		return err
	}
	session, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return err
	}
	defer session.Close()
	defer context.AfterFunc(ctx, func() { session.Close(); client.Close() })()
	header := http.Header{}
	header.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := session.CreateStream(header)
	if err != nil {
		return err
	}
	problems.Close() // Nothing is written to it.
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := session.CreateStream(header)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(data, client)
		data.Close() // The server may still answer after the end of the client's data.
	}()
	problem := make(chan error, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(problems, 4<<10))
		if len(text) > 0 {
			err = errors.New(strings.Join(strings.Fields(string(text)), " "))
			client.Close()
		}
		problem <- err
	}()
	_, _ = io.Copy(client, data)
	client.Close()
	return <-problem
}

// dialer returns the dialer of the port-forward of a pod: over WebSocket, or SPDY if the API server or a proxy in front of it
// does not support that.
func (f *Forward) dialer(pod string) (httpstream.Dialer, error) {
	address := f.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.target.Namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	dialer, err := portforward.NewSPDYOverWebsocketDialer(address, f.config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialer(dialer, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
