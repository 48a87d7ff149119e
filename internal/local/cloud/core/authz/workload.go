package authz

import (
	"regexp"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// workloads matches the members of a workload identity pool of clusters: one service account, or all those of a
// namespace. Source: https://cloud.google.com/iam/docs/principal-identifiers
var workloads = regexp.MustCompile(`^principal(Set)?://iam\.googleapis\.com/projects/(\d+)/locations/global/workloadIdentityPools/([^/]+)/` +
	`(?:subject/ns/([^/]+)/sa/([^/]+)|namespace/([^/]+))$`)

// isWorkload reports whether a principal is a Kubernetes service account.
func isWorkload(p api.Principal) bool { return strings.HasPrefix(p.Member, authn.PoolMember(p.Email)) }

// matchesWorkload reports whether a member of the form principal:// or principalSet:// matches a Kubernetes service
// account. The emulator accepts such members with other attributes, which match nobody.
func matchesWorkload(tx *bbolt.Tx, p api.Principal, member string) (bool, error) {
	parts := workloads.FindStringSubmatch(member)
	if parts == nil || !isWorkload(p) || p.Email != parts[3] || (parts[1] == "Set") != (parts[6] != "") {
		return false, nil
	}
	owner, err := api.FindProject(tx, strings.TrimSuffix(parts[3], ".svc.id.goog"))
	if err != nil || owner == nil || strconv.FormatInt(owner.Number, 10) != parts[2] {
		return false, err
	}
	if parts[6] != "" {
		return strings.HasPrefix(p.Member, authn.PoolMember(parts[3])+parts[6]+"/"), nil
	}
	who, ok := authn.Workload{Pool: parts[3], Namespace: parts[4], Account: parts[5]}.Principal()
	return ok && who.Member == p.Member, nil
}
