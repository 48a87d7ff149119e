package fluxcd

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	opaque       = "Opaque"
	dockerConfig = "kubernetes.io/dockerconfigjson"

	// The suffixes of the Secrets of a source, in the names of resources and, but for the first, of the Secrets.
	credentialsSuffix = "credentials"
	tlsSuffix         = "tls"
	keysSuffix        = "keys"
)

// newSecret makes a Secret with those of the data that are given. It is a resource of its own so that new credentials reach
// Flux by an update in place.
func newSecret(
	ctx *pulumi.Context, resource string, meta *metav1.ObjectMetaArgs, kind string, data map[string]pulumi.StringInput,
	opts ...pulumi.ResourceOption,
) (*corev1.Secret, error) {
	given := pulumi.StringMap{}
	for key, value := range data {
		switch {
		case value == nil:
		case public[key] || strings.HasSuffix(key, ".pub") || strings.HasSuffix(key, ".asc") || strings.HasSuffix(key, ".sshpub"):
			given[key] = value
		default:
			given[key] = secret(value)
		}
	}
	return corev1.NewSecret(ctx, resource, &corev1.SecretArgs{
		Metadata:   meta,
		Type:       pulumi.String(kind),
		StringData: given,
	}, opts...)
}

// public are the keys of a Secret whose values are none.
var public = map[string]bool{"username": true, "known_hosts": true, "ca.crt": true, "tls.crt": true, "trustpolicy.json": true}

// TLS says how a server proves who it is, and the client to it. It becomes a Secret in the source's namespace.
type TLS struct {
	// CA is the PEM bundle that the server's certificate is checked against, by default that of Flux's images.
	CA pulumi.StringInput
	// Certificate and Key, in PEM, are shown to the server.
	Certificate, Key pulumi.StringInput
}

func (t *TLS) data() map[string]pulumi.StringInput {
	if t == nil {
		return nil
	}
	return map[string]pulumi.StringInput{"ca.crt": t.CA, "tls.crt": t.Certificate, "tls.key": t.Key}
}

func (t *TLS) check() []string {
	switch {
	case t == nil:
		return nil
	case t.CA == nil && t.Certificate == nil && t.Key == nil:
		return []string{"TLS must have a CA, or a Certificate with its Key"}
	}
	return together("TLS.Certificate and TLS.Key", t.Certificate, t.Key)
}

// problems are what is wrong with arguments.
type problems []string

func (p *problems) refuse(when bool, why string) {
	if when {
		*p = append(*p, why)
	}
}

// err is the problems as one error, nil where there is none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return errors.New(strings.Join(p, "; "))
}

// together refuses values of which only some are given.
func together(names string, values ...pulumi.StringInput) []string {
	if n := count(values...); n != 0 && n != len(values) {
		return []string{names + " must be given together"}
	}
	return nil
}

// count is how many of the values are given.
func count(values ...pulumi.StringInput) int {
	n := 0
	for _, v := range values {
		if v != nil {
			n++
		}
	}
	return n
}

// keysProblem says what is wrong with public keys, which Flux tells apart by how their names end and passes over where it
// does not know the ending.
func keysProblem(field string, keys map[string]pulumi.StringInput, endings ...string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(endings, path.Ext(name)) || keys[name] == nil {
			problems = append(problems, fmt.Sprintf("%s[%q] must end in %s and hold a key", field, name, strings.Join(endings, " or ")))
		}
	}
	return problems
}

// guarded is an address once it is known that no credential is in it, where everybody who may read the source would see it,
// and, where one is sent to it, that this is not in the clear.
func guarded(address pulumi.StringInput, sends bool) pulumi.StringOutput {
	return address.ToStringOutput().ApplyT(func(address string) (string, error) {
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return "", fmt.Errorf("the URL of the source is none")
		case u.User != nil && (u.Scheme == "http" || u.Scheme == "https"):
			return "", fmt.Errorf("the URL of the source at %s has a user in it: give Username and Password instead", u.Host)
		case sends && u.Scheme == "http" && !isLoopback(address):
			return "", fmt.Errorf("the URL %s would send the credentials in the clear: take https", address)
		}
		return address, nil
	}).(pulumi.StringOutput)
}

// isLoopback says whether a URL is one over which a password may go in the clear.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
