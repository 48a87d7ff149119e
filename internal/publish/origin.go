package publish

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Git's format of hashes; see originOf.
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/terminal"
)

// Origin says where the files of an artifact come from.
type Origin struct {
	// Commit is the commit that contains exactly these files, and Tree the hash of their folder. Both are empty if there is none.
	Commit string `json:"commit,omitempty"`
	Tree   string `json:"tree,omitempty"`
	// Source is the address of the remote "origin", without a login.
	Source string `json:"source,omitempty"`
	// Reason says in one line why there is no Commit.
	Reason string `json:"reason,omitempty"`
}

// originOf compares the files of an artifact with the commit that is checked out. Git's own comparison is not enough: it trusts the
// index, in which a file can be marked as unchanged, and it applies filters, which convert the files of the commit.
func originOf(ctx context.Context, dir string, of *reader) Origin {
	commit, err := git(ctx, dir, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return Origin{Reason: err.Error()}
	}
	tree, err := git(ctx, dir, "rev-parse", "--verify", commit+":./")
	if err != nil {
		return Origin{Reason: fmt.Sprintf("commit %s does not contain the folder", commit)}
	}
	list, err := git(ctx, dir, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return Origin{Reason: err.Error()}
	}
	if difference := of.differs(blobs(list)); difference != "" {
		return Origin{Reason: fmt.Sprintf("commit %s %s", commit, difference)}
	}
	// A repository needs no remote.
	source, _ := git(ctx, dir, "remote", "get-url", "origin")
	return Origin{Commit: commit, Tree: tree, Source: withoutLogin(source)}
}

// git runs git in a folder. The configuration of the repository starts no program, and git fetches no object and replaces none
// (git-replace(1)).
func git(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	if said := terminal.Line(strings.Join(strings.Fields(failure.String()), " "), longestReason); said != "" {
		return "", fmt.Errorf("git %s: %s", args[0], said)
	}
	return "", fmt.Errorf("git %s: %w", args[0], err)
}

// longestReason bounds the reason of an origin, in characters.
const longestReason = 300

// blobs returns the hashes of the files that `git ls-tree -r -z` lists, by their names. Symbolic links and submodules have none.
func blobs(list string) map[string]string {
	all := map[string]string{}
	for line := range strings.SplitSeq(list, "\x00") {
		about, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 {
			continue
		}
		if all[name] = fields[2]; !strings.HasPrefix(fields[0], "100") {
			all[name] = ""
		}
	}
	return all
}

// blob returns the hash of a file in Git, in the format of another hash: SHA-1 or SHA-256.
func blob(content []byte, like string) string {
	var sum hash.Hash
	if sum = sha1.New(); len(like) == hex.EncodedLen(sha256.Size) { //nolint:gosec // Git's format of hashes; see originOf.
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", len(content))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// differs says how the files of a commit differ from those of the artifact, or returns "". The commit may contain files that its own
// .sourceignore lists.
func (r *reader) differs(committed map[string]string) string {
	seen := map[string]bool{}
	for _, each := range append(slices.Clone(r.rules), r.files...) {
		hash, ok := committed[each.name]
		switch {
		case !ok:
			return fmt.Sprintf("does not contain %q", each.name)
		case hash != blob(each.content, hash):
			return fmt.Sprintf("has another content of %q", each.name)
		}
		seen[each.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(committed)) {
		below := func(folder string) bool { return folder == "." || strings.HasPrefix(name, folder+"/") }
		if !seen[name] && slices.ContainsFunc(r.folders, below) && !r.leavesOut(name) {
			return fmt.Sprintf("also contains %q", name)
		}
	}
	return ""
}

// leavesOut reports whether the artifact leaves out a file, or a folder above it.
func (r *reader) leavesOut(name string) bool {
	parts := strings.Split(name, "/")
	for i := range parts {
		if r.ignored.Match(parts[:i+1], i+1 < len(parts)) {
			return true
		}
	}
	return false
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
	if len(o.Commit) == hex.EncodedLen(sha256.Size) {
		return "sha256:" + o.Commit
	}
	return "sha1:" + o.Commit
}

// provenance returns the predicate of SLSA. It contains no times, so that the same tree gives the same attestation.
func provenance(version string, from Origin) any {
	sources, content := []any{}, "files that no commit attests"
	if from.Commit != "" {
		source := map[string]any{"digest": map[string]string{"gitCommit": from.Commit, "gitTree": from.Tree}}
		if from.Source != "" {
			source["uri"] = "git+" + from.Source
		}
		sources, content = append(sources, source), "commit"
	}
	info := buildinfo.Read()
	return map[string]any{
		"buildDefinition": map[string]any{
			"buildType":            "https://strata.dev/publish/v1",
			"externalParameters":   map[string]string{"version": version, "content": content},
			"resolvedDependencies": sources,
		},
		"runDetails": map[string]any{
			"builder": map[string]any{"id": "https://strata.dev/publish", "version": map[string]string{"strata": info.Version}},
		},
	}
}
