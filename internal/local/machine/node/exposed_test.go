package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/local/machine/loadbalancer"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/test/long"
)

// fetches waits until a URL answers this machine with a text.
func fetches(t *testing.T, client *http.Client, url, want string) {
	t.Helper()
	nodetest.Eventually(t, url+" answers "+want, func() error {
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(text), want) {
			return fmt.Errorf("it answers %s %q, %w", response.Status, text, err)
		}
		return nil
	})
}

// browser returns a client that connects to one address whatever the URL's host is.
func browser(t *testing.T, address string, roots *x509.CertPool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func TestThisMachineReachesNodePortsAndLoadBalancers(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", server(image))
	web := map[string]string{"app": "web"}
	s := c.service(t, ns, "node", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: web, Ports: port(80, intstr.FromInt32(8080))})
	nodePort := fmt.Sprintf("127.0.0.1:%d", s.Spec.Ports[0].NodePort)
	fetches(t, browser(t, nodePort, nil), "http://"+nodePort, "web answers")

	c.service(t, ns, "balanced", corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: web, Ports: []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}, {Name: "other", Port: 8081, TargetPort: intstr.FromInt32(8080)}}})
	var addresses []string
	nodetest.Eventually(t, "the load balancer has an address", func() error {
		s, err := c.CoreV1().Services(ns).Get(t.Context(), "balanced", metav1.GetOptions{})
		if err != nil || len(s.Status.LoadBalancer.Ingress) != 1 {
			return fmt.Errorf("its status is %+v, %w", s.Status, err)
		}
		if addresses = strings.Split(s.Annotations[loadbalancer.Annotation], ","); len(addresses) != 2 || !strings.HasPrefix(addresses[0], s.Status.LoadBalancer.Ingress[0].IP+":") {
			return fmt.Errorf("its addresses are %q, its status %+v", addresses, s.Status)
		}
		return nil
	})
	for _, address := range addresses {
		fetches(t, browser(t, address, nil), "http://"+address, "web answers")
	}
	if err := c.CoreV1().Services(ns).Delete(t.Context(), "balanced", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the load balancer is gone with its Service", func() error {
		conn, err := net.Dial("tcp", addresses[0])
		if err != nil {
			return nil
		}
		conn.Close()
		return fmt.Errorf("%s still listens", addresses[0])
	})
}

func TestAnIngressServesHostsOnOnePort(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", server(image))
	c.service(t, ns, "web", corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}})
	host := ns + ".localhost"
	certificate, key := selfSigned(t, host)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}}
	if _, err := c.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	in := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if err := yaml.UnmarshalStrict([]byte(`{tls: [{hosts: [`+host+`], secretName: tls}],
		rules: [{host: `+host+`, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}}]}`), &in.Spec); err != nil {
		t.Fatal(err)
	}
	made, err := c.NetworkingV1().Ingresses(ns).Create(t.Context(), in, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if class := made.Spec.IngressClassName; class == nil || *class != "strata" {
		t.Errorf("the Ingress has the class %v, want the default class", class)
	}
	var address string
	nodetest.Eventually(t, "the Ingress has an address", func() error {
		in, err := c.NetworkingV1().Ingresses(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || len(in.Status.LoadBalancer.Ingress) != 1 {
			return fmt.Errorf("its status is %+v, %w", in.Status, err)
		}
		at := in.Status.LoadBalancer.Ingress[0]
		address = fmt.Sprintf("%s:%d", at.IP, at.Ports[0].Port)
		return nil
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	fetches(t, browser(t, address, nil), "http://"+host+"/", "web answers")
	fetches(t, browser(t, address, roots), "https://"+host+"/", "web answers")
	fetches(t, browser(t, address, nil), "http://elsewhere.localhost/", "no Ingress has a rule")
}
