package claims

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
)

// Place returns the project, stack and backend of a request.
func Place(project string, req engine.Request) v1.ProjectInfo {
	return v1.ProjectInfo{
		Name: project, Stack: req.Stack, SecretsProvider: req.SecretsProvider,
		Backend: PublicAddress(cmp.Or(req.Backend, req.Env["PULUMI_BACKEND_URL"])),
	}
}

// Describe names a Pulumi stack with its project and backend, for messages.
func Describe(info *v1.ProjectInfo) string {
	backend := cmp.Or(info.Backend, "Pulumi's service")
	return fmt.Sprintf("stack %s of project %s in %s", info.Stack, info.Name, backend)
}

// PublicAddress returns a backend's address without the parts that may be secret.
func PublicAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		scheme, _, _ := strings.Cut(address, "://")
		return scheme + "://"
	}
	// The query of a bucket's address names its region or endpoint. The query of a
	// database's address may hold a password.
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return strings.TrimRight(parsed.String(), "/")
}

// CheckPlace returns a [*stall.Error] if a request would move a Stack from the Pulumi stack
// held to another one while held may have resources. Nobody would destroy these resources.
// A nil held allows every place.
func CheckPlace(held *v1.ProjectInfo, project string, req engine.Request) error {
	if held == nil || held.Stack == "" {
		return nil
	}
	now := Place(cmp.Or(project, held.Name), req)
	if now.Name == held.Name && now.Stack == held.Stack && now.Backend == held.Backend {
		return nil
	}
	return stall.Invalid("the resources of this Stack are in %s, but its spec now names %s: the change would leave the resources behind. "+
		"Undo the change, or delete this Stack and create another one; spec.destroyOnFinalize decides whether the deletion destroys the resources",
		Describe(held), Describe(&now))
}
