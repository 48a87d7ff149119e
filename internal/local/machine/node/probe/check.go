package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// check runs a probe once. It returns nil if the probe passes.
func (p Prober) check(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return p.get(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		conn, err := p.dial(ctx, probe.TCPSocket.Host, probe.TCPSocket.Port)
		if err != nil {
			return err
		}
		return conn.Close()
	case probe.GRPC != nil:
		return p.ask(ctx, probe.GRPC)
	case probe.Exec != nil && len(probe.Exec.Command) > 0:
		if err := p.Target.Exec(ctx, probe.Exec.Command); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return fmt.Errorf("this node does not support this type of probe for the image %s", p.Image)
}

// get sends an HTTP request to the container. A status from 200 to 399 is a success, as in the kubelet.
func (p Prober) get(ctx context.Context, get *corev1.HTTPGetAction) error {
	scheme := strings.ToLower(string(get.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	url := fmt.Sprintf("%s://%s/%s", scheme, p.Target.Address(get.Host, get.Port), strings.TrimPrefix(get.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for _, h := range get.HTTPHeaders {
		request.Header.Add(h.Name, h.Value)
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value // net/http ignores the header.
		}
	}
	response, err := p.client(ctx, get).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}

// client returns a client that connects only to the server of a request, until ctx is done. Like the kubelet, it does not
// verify certificates.
func (p Prober) client(ctx context.Context, get *corev1.HTTPGetAction) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(ctx, get.Host, get.Port) },
		},
		// The status of a redirect is a success already, and its target may be another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dial connects to a port of the container, or to a port of another host if the probe names one.
func (p Prober) dial(ctx context.Context, host string, port intstr.IntOrString) (net.Conn, error) {
	if host == "" {
		return p.Target.Dial(ctx, port)
	}
	return p.Target.Reach(ctx, host, port)
}

// ask asks the health service of the container (gRPC Health Checking Protocol).
func (p Prober) ask(ctx context.Context, action *corev1.GRPCAction) error {
	port := intstr.FromInt32(action.Port)
	conn, err := grpc.NewClient("passthrough:///"+p.Target.Address("", port), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return p.Target.Dial(ctx, port) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	service := ptr.Deref(action.Service, "")
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		return err
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("gRPC service %q is %s", service, answer.GetStatus())
	}
	return nil
}
