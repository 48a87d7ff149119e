package node

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/test/long"
)

func TestTheAPIServerReachesPods(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.service(t, ns, "web", corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: port(80, intstr.FromString("http"))})
	c.create(t, ns, "web", server(image))
	c.waitPod(t, ns, "web", "the pod is ready", isReady)
	t.Run("by the proxy of Services", func(t *testing.T) {
		nodetest.Eventually(t, "the proxy answers", func() error {
			text, err := c.CoreV1().Services(ns).ProxyGet("http", "web", "80", "/", nil).DoRaw(t.Context())
			if err != nil || !strings.HasPrefix(string(text), "web answers 10.128.0.1:") {
				return fmt.Errorf("the proxy answers %q, %w", text, err)
			}
			return nil
		})
	})
	t.Run("by the proxy of pods", func(t *testing.T) {
		if got := c.ask(t, ns, "web", "env", "HOSTNAME"); got != "web" {
			t.Errorf("the proxy answers %q", got)
		}
	})
	t.Run("and the node's API still", func(t *testing.T) {
		text, err := c.CoreV1().Pods(ns).GetLogs("web", &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil || string(text) != "serving\n" {
			t.Errorf("the log is %q, %v", text, err)
		}
	})
	t.Run("by an admission webhook", func(t *testing.T) { c.testWebhook(t, ns, image) })
}

// testWebhook checks that a pod rejects the ConfigMaps of its namespace.
func (c *cluster) testWebhook(t *testing.T, ns, image string) {
	certificate, key := selfSigned(t, "hook."+ns+".svc")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}}
	if _, err := c.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spec := server(image)
	spec.Containers[0].Args = []string{"webhook", ":8443", "/tls/tls.crt", "/tls/tls.key"}
	spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8443)}}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}
	spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}}}
	c.service(t, ns, "hook", corev1.ServiceSpec{Selector: map[string]string{"app": "hook"}, Ports: port(443, intstr.FromInt32(8443))})
	c.create(t, ns, "hook", spec)
	c.waitPod(t, ns, "hook", "the webhook is ready", isReady)
	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "no.example.com", SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionv1.WebhookClientConfig{CABundle: certificate, Service: &admissionv1.ServiceReference{Namespace: ns, Name: "hook"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	if _, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), ns, metav1.DeleteOptions{})
	})
	n := 0
	nodetest.Eventually(t, "the webhook denies a ConfigMap", func() error {
		n++
		_, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%d", n)}}, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "the pod says no") {
			return fmt.Errorf("the API server answers %w", err)
		}
		return nil
	})
}

// selfSigned returns a certificate of its own for a name, and the key, in PEM form.
func selfSigned(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if pem.Encode(&a, &pem.Block{Type: "CERTIFICATE", Bytes: raw}) != nil || pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}) != nil {
		t.Fatal("encode the certificate")
	}
	return a.Bytes(), b.Bytes()
}
