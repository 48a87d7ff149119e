package gke

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

func (a *Args) check() error {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(a.Name == "", "name must be given")
	refuse(a.Project == nil, "project must be given")
	refuse(a.Location == nil, "location must be given")
	refuse(a.NodeCount < 1, "node count is %d: at least 1 is needed", a.NodeCount)
	refuse(a.NodeServiceAccount == nil && len(a.Name) > maxName,
		"name %q has more than %d characters, too many for an account of the nodes: give one", a.Name, maxName)
	refuse(a.ReleaseChannel != "" && !slices.Contains(Channels(), a.ReleaseChannel),
		"release channel %q is none of %s", a.ReleaseChannel, strings.Join(Channels(), ", "))
	refuse(a.Subnetwork != nil && a.Network == nil, "a subnetwork is given without its network")
	if s := a.Autoscaling; s != nil {
		refuse(s.Min < 0 || s.Max < 1 || s.Min > s.Max, "autoscaling between %d and %d nodes is impossible", s.Min, s.Max)
		refuse(a.NodeCount < s.Min || a.NodeCount > s.Max, "node count %d is outside of autoscaling's %d to %d", a.NodeCount, s.Min, s.Max)
	}
	if u := a.Upgrade; u != nil {
		refuse(u.MaxSurge < 0 || u.MaxUnavailable < 0 || u.MaxSurge+u.MaxUnavailable < 1,
			"an upgrade with %d additional and %d missing nodes cannot go on: one of them must be above zero", u.MaxSurge, u.MaxUnavailable)
	}
	if p := a.Private; p != nil && p.ControlPlaneRange != "" {
		prefix, err := netip.ParsePrefix(p.ControlPlaneRange)
		refuse(err != nil || prefix.Bits() != 28 || prefix != prefix.Masked() || !prefix.Addr().Is4(),
			"control plane range %q is not a range of 16 addresses, such as 172.16.0.0/28", p.ControlPlaneRange)
	}
	problems = append(problems, CheckNetworks(a.AuthorizedNetworks)...)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// CheckNetworks returns a phrase for each of the Args' AuthorizedNetworks that New would refuse, so that a program can
// refuse it before it creates anything.
func CheckNetworks(networks []string) []string {
	var problems []string
	for _, network := range networks {
		if prefix, err := netip.ParsePrefix(network); err != nil || prefix != prefix.Masked() {
			problems = append(problems, fmt.Sprintf("authorized network %q is not a range of addresses, such as 203.0.113.0/24", network))
		}
	}
	return problems
}

func value(pointer *string) string {
	if pointer == nil {
		return ""
	}
	return *pointer
}
