// Package gcp contains the local stand-in for the official Google Cloud provider plugin. It calls only an emulated
// Google Cloud, through Google's own clients.
package gcp

import (
	"errors"
	"fmt"
	"strings"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// Version is the version of the SDK in go.mod.
const Version = "7.38.0"

// plugin is one plugin process. Configure sets its clients.
type plugin struct {
	clients *clients
}

// Package describes the plugin.
func Package() frame.Package {
	g := &plugin{}
	return frame.Package{
		Name:          "gcp",
		Version:       Version,
		Description:   "Emulated Google Cloud, reached by Strata's local stand-in for the official provider.",
		Config:        sdk.ProviderArgs{},
		ConfigSecrets: []string{"accessToken", "credentials"},
		Configure:     g.configure,
		Resources: map[string]frame.Resource{
			"gcp:container/cluster:Cluster":               g.cluster(),
			"gcp:container/nodePool:NodePool":             g.nodePool(),
			"gcp:projects/iAMCustomRole:IAMCustomRole":    g.customRole(),
			"gcp:projects/iAMMember:IAMMember":            g.projectMember(),
			"gcp:projects/service:Service":                g.service(),
			"gcp:serviceaccount/account:Account":          g.account(),
			"gcp:serviceaccount/iAMBinding:IAMBinding":    g.accountBinding(),
			"gcp:serviceaccount/iAMMember:IAMMember":      g.accountMember(),
			"gcp:serviceaccount/key:Key":                  g.key(),
			"gcp:sql/database:Database":                   g.database(),
			"gcp:sql/databaseInstance:DatabaseInstance":   g.instance(),
			"gcp:sql/user:User":                           g.user(),
			"gcp:storage/bucket:Bucket":                   g.bucket(),
			"gcp:storage/bucketIAMMember:BucketIAMMember": g.bucketMember(),
		},
		Functions: map[string]frame.Function{
			"gcp:sql/getDatabase:getDatabase":                 g.getDatabase(),
			"gcp:sql/getDatabaseInstance:getDatabaseInstance": g.getInstance(),
		},
	}
}

// project returns the resource's own project or the provider's.
func (g *plugin) project(own string) (string, error) {
	if own != "" {
		return own, nil
	}
	if g.clients.settings.Project == "" {
		return "", fmt.Errorf("no project: set the property, the provider's project or GOOGLE_PROJECT")
	}
	return g.clients.settings.Project, nil
}

// location returns the resource's own location, or the provider's zone, or else the provider's region.
func (g *plugin) location(own string) (string, error) {
	if l := first(own, g.clients.settings.Zone, g.clients.settings.Region); l != "" {
		return l, nil
	}
	return "", errors.New("no location: set the property, the provider's zone or region, GOOGLE_ZONE or GOOGLE_REGION")
}

// region returns the resource's own region, or the provider's region, or else the region of the provider's zone.
func (g *plugin) region(own string) (string, error) {
	s := g.clients.settings
	if r := first(own, s.Region); r != "" {
		return r, nil
	}
	if i := strings.LastIndex(s.Zone, "-"); isZone(s.Zone) {
		return s.Zone[:i], nil
	}
	return "", errors.New("no region: set the property, the provider's region or GOOGLE_REGION")
}

// isZone reports whether a location is a zone, such as europe-west1-b, rather than a region.
func isZone(location string) bool { return strings.Count(location, "-") > 1 }

// first returns the first value that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
