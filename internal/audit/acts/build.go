package acts

import (
	"cmp"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/attempt"
	"github.com/strata-platform/strata/teams"
)

// builder collects the attempts of an audit.
type builder struct {
	site     *audit.Site
	cluster  *attempt.Cluster
	attempts []audit.Attempt
}

// Attempts returns what each identity attempts on a platform.
func Attempts(ctx context.Context, site *audit.Site, cluster *attempt.Cluster, identities []audit.Identity) ([]audit.Attempt, error) {
	b := &builder{site: site, cluster: cluster}
	for _, identity := range identities {
		if identity.Kubernetes != "" {
			if err := b.kubernetes(ctx, identity); err != nil {
				return nil, err
			}
		}
		if identity.Google != "" {
			b.google(ctx, identity)
		}
		if identity.Git != "" {
			b.git(identity)
			b.registry(identity)
		}
		switch identity.Class {
		case audit.LocalUser:
			b.machine(identity)
		case audit.Anonymous:
			b.strangers(identity)
		}
	}
	return b.attempts, ctx.Err()
}

func (b *builder) add(identity audit.Identity, a audit.Attempt) {
	a.Identity = identity.Name
	b.attempts = append(b.attempts, a)
}

// unknown returns an attempt that cannot be made on the target.
func (b *builder) unknown(area audit.Area) func(context.Context) audit.Answer {
	return skipped(cmp.Or(b.site.Unknown[area], "the audit cannot reach this part on the target "+b.site.Target))
}

// kubernetes adds the attempts of an identity on the API server.
func (b *builder) kubernetes(ctx context.Context, identity audit.Identity) error {
	subject, err := b.cluster.As(ctx, identity)
	missing := ""
	switch {
	case apierrors.IsNotFound(errors.Unwrap(err)):
		missing = "the account does not exist"
	case err != nil:
		return err
	}
	try := func(request attempt.Request) func(context.Context) audit.Answer {
		if missing != "" {
			return skipped(missing)
		}
		return func(ctx context.Context) audit.Answer { return subject.Try(ctx, request) }
	}
	for _, g := range kubernetes() {
		for _, at := range b.places(g.scope, identity) {
			for _, a := range g.acts {
				if a.other && at.other == "" {
					continue
				}
				b.add(identity, audit.Attempt{
					Act: ID(a.what), What: a.what, On: at.namespace, Area: g.area, Expected: a.of(identity), Why: g.why, Do: try(a.request(identity, at)),
				})
			}
		}
	}
	for _, i := range impersonations {
		do := skipped("with impersonation, only the administrator's own permission would be tried")
		switch {
		case missing != "":
			do = skipped(missing)
		case !b.site.Impersonate || identity.Class == audit.Administrator:
			do = func(ctx context.Context) audit.Answer { return subject.Impersonate(ctx, i.user, i.groups...) }
		}
		b.add(identity, audit.Attempt{
			Act: ID(i.what), What: i.what, Area: audit.RBAC, Expected: act{}.of(identity), Why: whyImpersonate, Do: do,
		})
	}
	return nil
}

const whyImpersonate = "no identity takes another's name"

// impersonations are attempts to act as another user.
var impersonations = []struct {
	what, user string
	groups     []string
}{
	{"impersonate Flux's kustomize-controller", audit.ServiceAccount(fluxcd.Namespace, "kustomize-controller"), nil},
	{"impersonate the group of the administrators", "strata-audit", []string{"system:masters"}},
}

// places returns the namespaces in which an identity attempts the acts of a scope.
func (b *builder) places(s scope, identity audit.Identity) []place {
	if s == everywhere {
		return []place{{}}
	}
	var places []place
	for _, team := range b.site.Tenants {
		own := team.Name == identity.Team
		if s == ownTeam && !own || s == otherTeams && own {
			continue
		}
		account := team.ServiceAccount()
		if _, name, ok := identity.Account(); ok && own && identity.Class == audit.Team {
			account = name
		}
		places = append(places, place{team.Name, team.Namespace(), account, otherThan(b.site.Tenants, team.Name)})
	}
	return places
}

// otherThan returns the name of another team of teams.yaml, or "".
func otherThan(list []teams.Team, name string) string {
	for _, team := range list {
		if team.Name != name && team.Offer == "" {
			return team.Name
		}
	}
	return ""
}

// git adds the attempts of an identity with its login at the Git server.
func (b *builder) git(identity audit.Identity) {
	server := b.site.Git
	if server == nil {
		b.add(identity, audit.Attempt{Act: "git", What: "use the Git server", Area: audit.Git, Why: whyGit, Do: b.unknown(audit.Git)})
		return
	}
	login, password := identity.Git, ""
	if identity.Class == audit.Anonymous {
		login = ""
	} else {
		password = server.Password(login)
	}
	for _, repository := range server.Repositories {
		writes := identity.Class == audit.Engineer || login == repository
		reads := writes || login == server.Reader(repository)
		for _, push := range []bool{false, true} {
			what, expected := whatFetch, reads
			if push {
				what, expected = whatPush, writes
			}
			b.add(identity, audit.Attempt{
				Act: ID(what), What: what, On: repository, Area: audit.Git, Expected: expected, Why: whyGit,
				Do: func(ctx context.Context) audit.Answer {
					return attempt.Git(ctx, server.URL, repository, login, password, push)
				},
			})
		}
	}
}

const (
	whyGit      = "each repository has its own writers"
	whyRegistry = "a team's images belong to the team"
	whatFetch   = "fetch a repository"
	whatPush    = "push to a repository"
	whatPull    = "pull images"
	whatUpload  = "push images"
)

// registry adds the attempts of an identity with its login at the registry.
func (b *builder) registry(identity audit.Identity) {
	registry := b.site.Registry
	if registry == nil {
		b.add(identity, audit.Attempt{Act: "registry", What: "use the registry", Area: audit.Registry, Why: whyRegistry, Do: b.unknown(audit.Registry)})
		return
	}
	login, password := identity.Git, ""
	if identity.Class == audit.Anonymous {
		login = ""
	} else {
		password = registry.Password(login)
	}
	namespaces := map[string]string{"platform": "platform"}
	order := []string{"platform"}
	for _, team := range b.site.Tenants {
		namespaces[team.Namespace()] = team.Name
		order = append(order, team.Namespace())
	}
	for _, namespace := range order {
		writes := identity.Class == audit.Engineer || login == namespaces[namespace] && login != ""
		reads := writes || identity.Class == audit.Reader && identity.Team == namespaces[namespace]
		repository := namespace + "/strata-audit"
		b.add(identity, audit.Attempt{
			Act: ID(whatPull), What: whatPull, On: namespace, Area: audit.Registry, Expected: reads, Why: whyRegistry,
			Do: func(ctx context.Context) audit.Answer {
				return attempt.Pull(ctx, registry.URL, repository, login, password)
			},
		})
		b.add(identity, audit.Attempt{
			Act: ID(whatUpload), What: whatUpload, On: namespace, Area: audit.Registry, Expected: writes, Why: whyRegistry,
			Do: func(ctx context.Context) audit.Answer {
				return attempt.Push(ctx, registry.URL, repository, login, password)
			},
		})
	}
}

// entry describes an act that is no request to the API server.
func entry(what string, area audit.Area, why, in string, may ...audit.Class) Entry {
	return Entry{ID(what), what, area, why, in, may}
}
