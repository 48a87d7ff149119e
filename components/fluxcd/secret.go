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

	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	opaque       = "Opaque"
	dockerConfig = "kubernetes.io/dockerconfigjson"

	// Suffixes of a source's Secrets in the names of resources. All but the first are also suffixes of the Secrets' own
	// names.
	credentialsSuffix = "credentials"
	tlsSuffix         = "tls"
	keysSuffix        = "keys"
)

// newSecret creates a Secret with the data whose values are given. The Secret is a resource of its own so that new
// credentials update it in place.
func newSecret(
	ctx *pulumi.Context, resource string, meta *metav1.ObjectMetaArgs, kind string, data map[string]pulumi.StringInput,
	opts ...pulumi.ResourceOption,
) (*corev1.Secret, error) {
	given := pulumi.StringMap{}
	for key, value := range data {
		switch {
		case inputs.Missing(value):
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

// public are the keys of a Secret whose values are not secret.
var public = map[string]bool{"username": true, "known_hosts": true, "ca.crt": true, "tls.crt": true, "trustpolicy.json": true}

// TLS configures how server and client authenticate. It becomes a Secret in the source's namespace.
type TLS struct {
	// CA is the PEM bundle that verifies the server's certificate; nil means the bundle of Flux's images.
	CA pulumi.StringInput
	// Certificate and Key, in PEM, authenticate the client.
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
	case inputs.Missing(t.CA) && inputs.Missing(t.Certificate) && inputs.Missing(t.Key):
		return []string{"TLS must have a CA, or a Certificate with its Key"}
	}
	return together("TLS.Certificate and TLS.Key", t.Certificate, t.Key)
}

// problems are the problems of arguments, one phrase each.
type problems []string

func (p *problems) refuse(when bool, why string) {
	if when {
		*p = append(*p, why)
	}
}

// err returns the problems as one error, or nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return errors.New(strings.Join(p, "; "))
}

// together returns a problem if some of the values are given, but not all.
func together(names string, values ...pulumi.StringInput) []string {
	if n := count(values...); n != 0 && n != len(values) {
		return []string{names + " must be given together"}
	}
	return nil
}

// count returns the number of values that are given.
func count(values ...pulumi.StringInput) int {
	n := 0
	for _, v := range values {
		if !inputs.Missing(v) {
			n++
		}
	}
	return n
}

// keysProblem returns the problems of public keys. Flux distinguishes their formats by the endings of their names, and
// ignores a name with an unknown ending.
func keysProblem(field string, keys map[string]pulumi.StringInput, endings ...string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(endings, path.Ext(name)) || inputs.Missing(keys[name]) {
			problems = append(problems, fmt.Sprintf("%s[%q] must end in %s and hold a key", field, name, strings.Join(endings, " or ")))
		}
	}
	return problems
}

// guarded returns the address after it has checked it. The address must hold no credential, because everybody who may
// read the source sees it. If Flux sends a credential to the address, the connection must be encrypted.
func guarded(address pulumi.StringInput, sends bool) pulumi.StringOutput {
	return address.ToStringOutput().ApplyT(func(address string) (string, error) {
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return "", fmt.Errorf("the URL of the source is not valid: give one such as https://HOST/PATH")
		case u.User != nil && (u.Scheme == "http" || u.Scheme == "https"):
			return "", fmt.Errorf("the URL of the source at %s contains a user: give Username and Password instead", u.Host)
		case sends && u.Scheme == "http" && !isLoopback(address):
			return "", fmt.Errorf("the URL %s would send the credentials in plain text: use https", address)
		}
		return address, nil
	}).(pulumi.StringOutput)
}

// isLoopback reports whether the URL is plain HTTP to a loopback address, which no other machine can read.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
