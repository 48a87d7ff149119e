// Package core contains the code that the resources of all Google Cloud services share: the provider's configuration,
// its API clients, and helpers for rules, IDs, errors and operations.
package core

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
)

// Provider is the provider of one plugin process. Its zero value has no endpoints: call Configure before any other
// method.
type Provider struct {
	settings settings
	http     *http.Client
}

// Project returns a resource's own project, or else the provider's. It returns an error if neither is set.
func (p *Provider) Project(own string) (string, error) {
	if project := cmp.Or(own, p.settings.Project); project != "" {
		return project, nil
	}
	return "", errors.New("no project: set the property, the provider's project or GOOGLE_PROJECT")
}

// Location returns a resource's own location, or else the provider's zone, or else its region. It returns an error if
// none is set.
func (p *Provider) Location(own string) (string, error) {
	if l := cmp.Or(own, p.settings.Zone, p.settings.Region); l != "" {
		return l, nil
	}
	return "", errors.New("no location: set the property, the provider's zone or region, GOOGLE_ZONE or GOOGLE_REGION")
}

// Region returns a resource's own region, or else the provider's region, or else that of the provider's zone. It
// returns an error if none is set.
func (p *Provider) Region(own string) (string, error) {
	if r := cmp.Or(own, p.settings.Region); r != "" {
		return r, nil
	}
	if zone := p.settings.Zone; IsZone(zone) {
		return zone[:strings.LastIndex(zone, "-")], nil
	}
	return "", errors.New("no region: set the property, the provider's region or GOOGLE_REGION")
}

// DefaultLabels returns the labels that the provider's configuration adds to every resource. The result may be nil.
func (p *Provider) DefaultLabels() map[string]string { return p.settings.DefaultLabels }

// IsZone reports whether a location is a zone, such as europe-west1-b, rather than a region.
func IsZone(location string) bool { return strings.Count(location, "-") > 1 }
