// Package google serves the emulated Google Cloud to pods, under the names and at the kind of addresses that Google Cloud
// itself has in a private network.
package google

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/httpbackend"
)

// Address is the address with which DNS answers for the emulated hosts of Google: one of private.googleapis.com (Google
// Cloud, "Configure Private Google Access"). It is public, so the NetworkPolicies that allow Google's APIs on Google Cloud
// allow the emulated ones, too.
var Address = netip.MustParseAddr("199.36.153.8")

// URL is the emulator's URL for pods. Its path /token is the token endpoint.
const URL = "http://oauth2.googleapis.com"

// Instances is the range in which pods see the Cloud SQL instances: 240.a.b.c is the instance with the loopback address
// 127.a.b.c. A pod's own loopback hides the latter. No network uses this range (RFC 1112, section 4), and it is not
// private, so policies treat it like an instance's public address.
var Instances = netip.MustParsePrefix("240.0.0.0/8")

// ports are the ports of a Cloud SQL instance: MySQL, and the one for Google's connectors.
var ports = []uint16{3306, 3307}

// Cloud is the emulated Google Cloud. All fields are required.
type Cloud struct {
	// Hosts are the names of the emulated hosts, such as sqladmin.googleapis.com.
	Hosts []string
	// Handler serves the calls of pods.
	Handler http.Handler
	// TLS has the certificate of the hosts.
	TLS *tls.Config
	// Metadata returns the metadata server, which finds the accounts of the pods that ask it with accounts.
	Metadata func(accounts Accounts) http.Handler
	// Instances returns the loopback addresses of the Cloud SQL instances that run.
	Instances func() []netip.Addr
}

// Accounts returns the Kubernetes service account of a pod, and the Google account in that account's annotation
// iam.gke.io/gcp-service-account, or "". The pod is the one at a link of the gateway.
type Accounts func(ctx context.Context, pod network.Pod) (account, googleAccount string, err error)

// Seen returns the address at which pods see the Cloud SQL instance with an address of this machine.
func Seen(instance string) string {
	address, err := netip.ParseAddr(instance)
	if err != nil || !address.Is4() {
		return instance
	}
	four := address.As4()
	four[0] = Instances.Addr().As4()[0]
	return netip.AddrFrom4(four).String()
}

// metadataServer is the address of the metadata server, and metadataName its name (Google Cloud, "VM metadata").
var metadataServer = netip.MustParseAddr("169.254.169.254")

const metadataName = "metadata.google.internal."

// Names returns the records of the DNS server.
func (c *Cloud) Names() map[string]netip.Addr {
	names := map[string]netip.Addr{metadataName: metadataServer}
	for _, host := range c.Hosts {
		names[host+"."] = Address
	}
	return names
}

// Serve serves the emulated Google Cloud at a gateway until ctx ends: the API over HTTP and HTTPS, the metadata server, and
// the ports of the Cloud SQL instances. It returns at once; wait returns when ctx has ended and nothing is served any more.
func (c *Cloud) Serve(ctx context.Context, g *network.Gateway, accounts Accounts) (wait func()) {
	servers := map[netip.AddrPort]*httpbackend.Server{
		netip.AddrPortFrom(Address, 80):        httpbackend.New(c.Handler),
		netip.AddrPortFrom(Address, 443):       httpbackend.NewTLS(c.Handler, c.TLS),
		netip.AddrPortFrom(metadataServer, 80): httpbackend.New(c.Metadata(accounts)),
	}
	for address, server := range servers {
		g.ServeAddress(address, server.Backend)
	}
	for _, port := range ports {
		g.ServeRange(Instances, port, c.dialInstance)
	}
	return func() {
		<-ctx.Done()
		for _, server := range servers {
			server.Close()
		}
	}
}

// dialInstance connects to a Cloud SQL instance. Other loopback addresses stay closed.
func (c *Cloud) dialInstance(ctx context.Context, r network.Request) (net.Conn, error) {
	four := r.Address.Addr().As4()
	four[0] = 127
	own := netip.AddrFrom4(four)
	if r.Network != "tcp" || !slices.Contains(c.Instances(), own) {
		return nil, &network.Rejected{Address: r.Address, Reason: "no Cloud SQL instance has this address"}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(own, r.Address.Port()).String())
	if err != nil {
		return nil, fmt.Errorf("connect to the Cloud SQL instance at %s: %w", own, err)
	}
	return conn, nil
}
