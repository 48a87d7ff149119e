package teams

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Forges on whose commits Flux can put the results of plans.
const (
	NotifyGitHub = "github"
	NotifyGitLab = "gitlab"
	NotifyGitea  = "gitea"
)

// maxRepository is the length of the longest address of a Provider of Flux.
const maxRepository = 2048

// Notify says where the results of a team's plans are put on the commits. Layer 2 has the token.
type Notify struct {
	// Provider is NotifyGitHub, NotifyGitLab or NotifyGitea. Required.
	Provider string `json:"provider"`
	// Repository is the address of the repository at the forge, beginning with https://; empty means the team's own repository.
	Repository string `json:"repository,omitempty"`
}

// repositoryPath matches the path of a repository: an owner, which GitLab can nest, and a name.
var repositoryPath = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9_.-]*){2,20}$`)

func (n *Notify) problems(at string) []error {
	if n == nil {
		return nil
	}
	var problems []error
	if n.Provider != NotifyGitHub && n.Provider != NotifyGitLab && n.Provider != NotifyGitea {
		problems = append(problems, fmt.Errorf("%s.notify.provider %q must be %s, %s or %s", at, n.Provider, NotifyGitHub, NotifyGitLab, NotifyGitea))
	}
	if n.Repository != "" {
		if problem := n.RepositoryProblem(n.Repository); problem != "" {
			problems = append(problems, fmt.Errorf("%s.notify.repository %s", at, problem))
		}
	}
	return problems
}

// RepositoryProblem returns why a Provider of Flux cannot use the address of a repository, or "". It does not quote the address, which may
// contain a login.
func (n *Notify) RepositoryProblem(address string) string {
	parsed, err := url.Parse(address)
	switch {
	// Flux would send the token in plain text, or to another path.
	case err != nil || parsed.Scheme != "https" || parsed.Host == "" || len(address) > maxRepository || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.RawPath != "":
		return "is not the address of a repository that begins with https://, such as https://git.example.com/shop/deploy"
	case parsed.User != nil:
		return "contains a login: give the token in the setting notifyTokens of layer 2"
	case !repositoryPath.MatchString(parsed.Path) || strings.Contains(parsed.Path, ".."):
		return "has no owner and name of a repository, such as https://git.example.com/shop/deploy"
	case n.Provider != NotifyGitLab && strings.Count(parsed.Path, "/") != 2:
		return fmt.Sprintf("must have one owner and a name: only %s has groups in groups", NotifyGitLab)
	}
	return ""
}
