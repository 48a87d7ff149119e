package federation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/strata-platform/strata/internal/local/cloud/container"
)

const (
	// keepKeys is the time for which the emulator uses the keys of an issuer without reading them again.
	keepKeys = 5 * time.Minute
	// rereadKeys is the least time between two reads because of a token with an unknown key, since any caller can send one.
	rereadKeys = time.Second

	readTimeout = 5 * time.Second
	maxDocument = 1 << 20
)

// issuer is the API server of a cluster, as an issuer of OpenID Connect.
type issuer struct {
	url  string
	keys jose.JSONWebKeySet
	read time.Time
}

// issuers reads the public keys of API servers, and keeps them for a while.
type issuers struct {
	now func() time.Time

	mu   sync.Mutex
	kept map[string]*issuer // by the cluster's unique ID
}

// find returns the issuer of a provider's tokens. It reads the keys again if it does not know the key with an ID: the API
// server may have a new one.
func (i *issuers) find(ctx context.Context, of *provider, key string) (*issuer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.kept[of.id]
	if known != nil {
		age := i.now().Sub(known.read).Abs()
		if age < rereadKeys || age < keepKeys && len(known.keys.Key(key)) > 0 {
			return known, nil
		}
	}
	read, err := readIssuer(ctx, of.access)
	if err != nil {
		return nil, err
	}
	read.read = i.now()
	// A home has one cluster at a time.
	i.kept = map[string]*issuer{of.id: read}
	return read, nil
}

// readIssuer reads the discovery document and the keys of an API server. Google reads them at the URL of the cluster. Here the
// issuer has a name that leads nowhere, and the emulator reads them from the API server itself, as its administrator.
func readIssuer(ctx context.Context, access container.Access) (*issuer, error) {
	pair, err := tls.X509KeyPair(access.ClientCertificate, access.ClientKey)
	if err != nil {
		return nil, errors.New("the cluster has no API server")
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(access.CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: readTimeout}
	var discovery struct {
		Issuer string `json:"issuer"`
	}
	read := &issuer{}
	if err := getJSON(ctx, client, "https://"+access.Endpoint+"/.well-known/openid-configuration", &discovery); err != nil {
		return nil, err
	}
	read.url = discovery.Issuer
	return read, getJSON(ctx, client, "https://"+access.Endpoint+"/openid/v1/jwks", &read.keys)
}

func getJSON(ctx context.Context, client *http.Client, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Path, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxDocument)).Decode(into)
}
