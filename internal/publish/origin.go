package publish

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/strata-platform/strata/internal/buildinfo"
)

// Origin says where a tree comes from.
type Origin struct {
	// Commit is the commit whose tree was published, and Tree the hash of its folder. Both are empty if the folder is in no
	// Git repository, or differs from the commit.
	Commit string `json:"commit,omitempty"`
	Tree   string `json:"tree,omitempty"`
	// Source is the address of the remote "origin", without a login.
	Source string `json:"source,omitempty"`
}

// originOf asks Git for the origin of folders below dir. Without a repository, or with changes in one of the folders, there is none.
func originOf(ctx context.Context, dir string, folders []string) Origin {
	git := func(args ...string) string {
		// These settings keep the configuration of the repository from starting programs.
		command := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
		command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
		out, err := command.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	commit, tree := git("rev-parse", "--verify", "HEAD"), git("rev-parse", "--verify", "HEAD:./")
	// A folder that Git ignores in part may contain files that are in no commit.
	if commit == "" || tree == "" || git(append([]string{"status", "--porcelain", "--ignored", "--untracked-files=all", "--"}, folders...)...) != "" {
		return Origin{}
	}
	return Origin{Commit: commit, Tree: tree, Source: withoutLogin(git("remote", "get-url", "origin"))}
}

// withoutLogin returns an address without its login, or "" if it is no URL.
func withoutLogin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}

// revision returns the commit in the form of Flux, or "".
func (o Origin) revision() string {
	if o.Commit == "" {
		return ""
	}
	return "sha1:" + o.Commit
}

// provenance returns the predicate of SLSA. It contains no times, so that the same tree gives the same attestation.
func provenance(version string, from Origin) any {
	sources := []any{}
	if from.Commit != "" {
		source := map[string]any{"digest": map[string]string{"gitCommit": from.Commit, "gitTree": from.Tree}}
		if from.Source != "" {
			source["uri"] = "git+" + from.Source
		}
		sources = append(sources, source)
	}
	info := buildinfo.Read()
	return map[string]any{
		"buildDefinition": map[string]any{
			"buildType":            "https://strata.dev/publish/v1",
			"externalParameters":   map[string]string{"version": version},
			"resolvedDependencies": sources,
		},
		"runDetails": map[string]any{
			"builder": map[string]any{"id": "https://strata.dev/publish", "version": map[string]string{"strata": info.Version}},
		},
	}
}
