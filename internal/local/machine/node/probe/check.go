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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// check runs a probe once. It returns nil if the probe passes.
func (p Prober) check(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return p.get(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		conn, err := p.Target.Dial(ctx, probe.TCPSocket.Port)
		if err != nil {
			return err
		}
		return conn.Close()
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
	url := fmt.Sprintf("%s://%s/%s", scheme, p.Target.Address(get.Port), strings.TrimPrefix(get.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for _, h := range get.HTTPHeaders {
		request.Header.Add(h.Name, h.Value)
	}
	response, err := p.client(get.Port).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}

// client returns a client that connects only to a port of the container. Like the kubelet, it does not verify
// certificates.
func (p Prober) client(port intstr.IntOrString) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Target.Dial(ctx, port) },
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
