package gke

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/internal/inputs"
)

// check returns one error with every problem, or nil. It sees only plain values: Google Cloud checks computed ones.
func (a *ClusterArgs) check() error {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(inputs.Missing(a.Name), "name must be given")
	refuse(inputs.Missing(a.Project), "project must be given")
	refuse(inputs.Missing(a.Location), "location must be given")
	nodes, plain := inputs.Number(a.NodeCount)
	refuse(plain && nodes < 1, "node count is %d: at least 1 is needed", nodes)
	refuse(inputs.Missing(a.NodeServiceAccount) && len(inputs.Text(a.Name)) > maxName,
		"name %q has more than %d characters, too many for the ID of the nodes' account: give NodeServiceAccount", inputs.Text(a.Name), maxName)
	channel := inputs.Text(a.ReleaseChannel)
	refuse(channel != "" && !slices.Contains(Channels(), channel), "release channel %q is not one of %s", channel, strings.Join(Channels(), ", "))
	refuse(!inputs.Missing(a.Subnetwork) && inputs.Missing(a.Network), "Subnetwork is given without Network")
	if s := a.Autoscaling; s != nil {
		least, plainLeast := inputs.Number(s.Min)
		most, plainMost := inputs.Number(s.Max)
		plainBounds := plainLeast && plainMost
		refuse(plainBounds && (least < 0 || most < 1 || least > most), "autoscaling between %d and %d nodes is impossible", least, most)
		refuse(plain && plainBounds && (nodes < least || nodes > most), "node count %d is outside autoscaling's %d to %d", nodes, least, most)
	}
	if u := a.Upgrade; u != nil {
		surge, plainSurge := inputs.Number(u.MaxSurge)
		unavailable, plainUnavailable := inputs.Number(u.MaxUnavailable)
		refuse(plainSurge && plainUnavailable && (surge < 0 || unavailable < 0 || surge+unavailable < 1),
			"an upgrade with %d extra and %d unavailable nodes replaces no node: MaxSurge or MaxUnavailable must be above zero", surge, unavailable)
	}
	if p := a.Private; p != nil && inputs.Text(p.ControlPlaneRange) != "" {
		given := inputs.Text(p.ControlPlaneRange)
		prefix, err := netip.ParsePrefix(given)
		refuse(err != nil || prefix.Bits() != 28 || prefix != prefix.Masked() || !prefix.Addr().Is4(),
			"control plane range %q is not a range of 16 addresses, such as 172.16.0.0/28", given)
	}
	for _, network := range a.AuthorizedNetworks {
		refuse(inputs.Missing(network), "an authorized network is empty")
		if given := inputs.Text(network); given != "" {
			problems = append(problems, CheckNetworks([]string{given})...)
		}
	}
	problems = append(problems, a.hardeningProblems()...)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// CheckNetworks returns a phrase for each value of ClusterArgs.AuthorizedNetworks that NewCluster would refuse, so that a
// program can refuse it before it creates any resource.
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
