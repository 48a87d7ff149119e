package cloud_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"testing"
	"time"

	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"
)

// connector is a client's key, as a connector keeps it.
type connector struct {
	key    *ecdsa.PrivateKey
	public string
}

func newConnector(t *testing.T) connector {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return connector{key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw}))}
}

// request returns a certificate of an instance that a client requests.
func (k connector) request(clients *clients, project, instance string, request sqladmin.GenerateEphemeralCertRequest) (*sqladmin.SslCert, error) {
	request.PublicKey = k.public
	answer, err := clients.sql.Connect.GenerateEphemeralCert(project, instance, &request).Do()
	if err != nil {
		return nil, err
	}
	return answer.EphemeralCert, nil
}

// connect connects to an instance with a certificate. It returns an error unless the server greets the client.
func (k connector) connect(t *testing.T, address string, certificate *sqladmin.SslCert) error {
	t.Helper()
	block, _ := pem.Decode([]byte(certificate.Cert))
	pair := &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: k.key}
	conn, err := tls.Dial("tcp", net.JoinHostPort(address, "3307"), &tls.Config{
		InsecureSkipVerify:   true, //nolint:gosec // the test is about the client's certificate
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil },
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}

// newInstanceIn creates an instance and returns its address.
func (c *emulator) newInstanceIn(clients *clients, project, name string) string {
	c.t.Helper()
	op, err := clients.sql.Instances.Insert(project, &sqladmin.DatabaseInstance{Name: name, Settings: &sqladmin.Settings{Tier: "db-f1-micro"}}).Do()
	for err == nil && op.Status != "DONE" {
		op, err = clients.sql.Operations.Get(project, op.Name).Do()
	}
	if err != nil || op.Error != nil {
		c.t.Fatalf("create %s: %v, %+v", name, err, op)
	}
	found, err := clients.sql.Instances.Get(project, name).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	return found.IpAddresses[0].IpAddress
}

func TestACertificateOpensOnlyItsInstance(t *testing.T) {
	c := newEmulator(t, true)
	owner, k := c.owner(), newConnector(t)
	address := c.newInstanceIn(owner, projectID, "strata")
	certificate, err := k.request(owner, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.connect(t, address, certificate); err != nil {
		t.Errorf("its own instance: %v", err)
	}
	if err := k.connect(t, c.newInstanceIn(owner, projectID, "other"), certificate); err == nil {
		t.Error("the certificate opens another instance")
	}
	other, err := c.EnsureProject("strata-other", engineer)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.connect(t, c.newInstanceIn(c.as(other), "strata-other", "strata"), certificate); err == nil {
		t.Error("the certificate opens the instance of the same name in another project")
	}
	op, err := owner.sql.Instances.Delete(projectID, "strata").Do()
	c.waitSQL(owner, op, err)
	if err := k.connect(t, address, certificate); err == nil {
		t.Error("the certificate opens its deleted instance")
	}
	if _, err := k.request(owner, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{}); code(err) != 404 {
		t.Errorf("a certificate of the deleted instance: %v", err)
	}
	if err := k.connect(t, c.newInstanceIn(owner, projectID, "strata"), certificate); err == nil {
		t.Error("the certificate opens the next instance of the same name")
	}
}

func TestRevokedRightsCountAtTheNextCertificate(t *testing.T) {
	c := newEmulator(t, true)
	owner, k := c.owner(), newConnector(t)
	address := c.newInstanceIn(owner, projectID, "strata")
	email, key := c.account("client", "roles/cloudsql.client")
	client := c.as(key)
	certificate, err := k.request(client, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.iam.Projects.ServiceAccounts.Disable("projects/-/serviceAccounts/"+email, &iam.DisableServiceAccountRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.request(client, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{}); code(err) != 401 {
		t.Errorf("the disabled account requests a certificate: %v", err)
	}
	if err := k.connect(t, address, certificate); err != nil {
		t.Errorf("the account's certificate, within its hour: %v", err)
	}
	later := time.Now().Add(61 * time.Minute)
	c.SetClock(func() time.Time { return later })
	if err := k.connect(t, address, certificate); err == nil {
		t.Error("the account's certificate opens the instance after its hour")
	}
}

func TestATokenForLoginsRestrictsTheCertificate(t *testing.T) {
	c := newEmulator(t, true)
	owner, k := c.owner(), newConnector(t)
	c.newInstanceIn(owner, projectID, "strata")
	_, mayConnect := c.account("connects", "roles/cloudsql.client")
	_, mayLogIn := c.account("logs-in", "roles/cloudsql.instanceUser")
	began := time.Now()
	token := c.token(mayLogIn)
	later := began.Add(30 * time.Minute)
	c.SetClock(func() time.Time { return later })
	client := c.as(mayConnect)
	certificate, err := k.request(client, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{AccessToken: token})
	if err != nil {
		t.Fatal(err)
	}
	if ends, err := time.Parse(time.RFC3339, certificate.ExpirationTime); err != nil || ends.After(began.Add(61*time.Minute)) {
		t.Errorf("the certificate ends at %s, %v; its token ends an hour after %s", ends, err, began)
	}
	for name, try := range map[string]struct {
		request sqladmin.GenerateEphemeralCertRequest
		want    int
		words   string
	}{
		"an unknown token":                     {sqladmin.GenerateEphemeralCertRequest{AccessToken: "ya29.stolen"}, 400, "invalid or has expired"},
		"a token of an account without logins": {sqladmin.GenerateEphemeralCertRequest{AccessToken: c.token(mayConnect)}, 403, "cloudsql.instances.login"},
		"a duration of a day":                  {sqladmin.GenerateEphemeralCertRequest{ValidDuration: "86400s"}, 400, "validDuration"},
		"a negative duration":                  {sqladmin.GenerateEphemeralCertRequest{ValidDuration: "-1s"}, 400, "validDuration"},
		"a duration of no time":                {sqladmin.GenerateEphemeralCertRequest{ValidDuration: "NaNs"}, 400, "validDuration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := k.request(client, projectID, "strata", try.request)
			refused(t, err, try.want, try.words)
		})
	}
	bad := connector{public: "no key"}
	_, err = bad.request(client, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	refused(t, err, 400, "public key", "PEM")
}
