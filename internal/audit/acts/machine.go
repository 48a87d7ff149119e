package acts

import (
	"context"
	"maps"
	"slices"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/attempt"
)

const (
	whyState   = "only the user of the home reads its files"
	whySockets = "only the user of the home, and holders of credentials, reach its servers"

	whatRead    = "read the files of a folder"
	whatConnect = "connect to a server"
	whatAsk     = "use a server without a certificate"
)

// machine adds the attempts of another user of the machine.
func (b *builder) machine(identity audit.Identity) {
	m := b.site.Machine
	for _, name := range slices.Sorted(maps.Keys(m.Folders)) {
		b.add(identity, audit.Attempt{
			Act: ID(whatRead), What: whatRead, On: name, Area: audit.State, Why: whyState,
			Do: func(context.Context) audit.Answer { return attempt.Open(m.Folders[name]) },
		})
	}
	for network, servers := range map[string]map[string]string{"unix": m.Sockets, "tcp": m.Ports} {
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			b.add(identity, audit.Attempt{
				Act: ID(whatConnect), What: whatConnect, On: name, Area: audit.Sockets, Why: whySockets,
				Do: func(ctx context.Context) audit.Answer { return attempt.Dial(ctx, network, servers[name]) },
			})
		}
	}
}

// strangers adds the attempts of a program without any credential.
func (b *builder) strangers(identity audit.Identity) {
	if b.site.Machine == nil {
		b.add(identity, audit.Attempt{Act: ID(whatAsk), What: whatAsk, Area: audit.Sockets, Why: whySockets, Do: b.unknown(audit.Sockets)})
		return
	}
	secure := b.site.Machine.Secure
	for _, name := range slices.Sorted(maps.Keys(secure)) {
		b.add(identity, audit.Attempt{
			Act: ID(whatAsk), What: whatAsk, On: name, Area: audit.Sockets, Why: whySockets,
			Do: func(ctx context.Context) audit.Answer { return attempt.WithoutCertificate(ctx, secure[name]) },
		})
	}
}

// others returns the entries of the catalogue beside the requests to the API server.
func others() [][]Entry {
	iam := make([]Entry, 0, len(googleActs))
	for _, a := range googleActs {
		in := "the project"
		if a.others {
			in = string(otherTeams)
		}
		iam = append(iam, entry(a.what, audit.IAM, whyGoogle, in, append([]audit.Class{audit.Engineer}, a.also...)...))
	}
	var names []Entry
	for _, i := range impersonations {
		names = append(names, entry(i.what, audit.RBAC, whyImpersonate, string(everywhere), administrators...))
	}
	return [][]Entry{names, iam, {
		entry(whatFetch, audit.Git, whyGit, "each repository", audit.Engineer),
		entry(whatPush, audit.Git, whyGit, "each repository", audit.Engineer),
		entry(whatPull, audit.Registry, whyRegistry, "each namespace", audit.Engineer),
		entry(whatUpload, audit.Registry, whyRegistry, "each namespace", audit.Engineer),
		entry(whatRead, audit.State, whyState, "each folder of the home"),
		entry(whatConnect, audit.Sockets, whySockets, "each server of the home's user"),
		entry(whatAsk, audit.Sockets, whySockets, "each server that demands a certificate"),
	}}
}
