package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// A commit is the source of a release.
type commit struct {
	hash     string
	time     time.Time
	modified bool // the files differ from the commit
}

func readCommit(ctx context.Context, root string) (commit, error) {
	text, err := output(ctx, root, nil, "git", "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return commit{}, fmt.Errorf("find the commit of the release: %w", err)
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(text), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("find the commit of the release: git prints %q", text)
	}
	changes, err := output(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return commit{}, fmt.Errorf("find the changes since the commit: %w", err)
	}
	return commit{hash, time.Unix(unix, 0), strings.TrimSpace(changes) != ""}, nil
}

// A program is a command of this repository that a release contains for every platform.
type program struct {
	name    string // of the folder below cmd, and of the executable
	archive string // name of the archive without its extension
	// settings are the linker's -X settings.
	settings []string
}

// programs returns the programs for a platform. digest is the digest of the platform's bundle, or empty.
func programs(c commit, platform, digest string) []program {
	system, arch, _ := strings.Cut(platform, "/")
	settings := []string{
		sources.Module + "/internal/buildinfo.commit=" + c.hash,
		sources.Module + "/internal/buildinfo.modified=" + strconv.FormatBool(c.modified),
		sources.Module + "/internal/toolchain.bundleDigest=" + digest,
	}
	return []program{
		{name: "strata", archive: "strata_" + buildinfo.Version + "_" + system + "_" + arch, settings: settings},
		// `pulumi plugin install --server` looks for this name.
		{name: pluginName, archive: pluginName + "-" + buildinfo.Version + "-" + system + "-" + arch},
	}
}

// pluginName is the name of the Pulumi plugin with Strata's components.
const pluginName = "pulumi-resource-strata"

// program writes the archive of a program for a platform, and its bill of materials.
func (o Options) program(ctx context.Context, c commit, platform string, p program) error {
	began := time.Now()
	stage, err := os.MkdirTemp("", "strata-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	built := filepath.Join(stage, p.name)
	system, arch, _ := strings.Cut(platform, "/")
	// These variables replace the user's, so that the program depends on the commit and on Go alone.
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+system, "GOARCH="+arch)
	linker := strings.Join(append([]string{"-s -w"}, p.settings...), " -X ")
	if _, err := output(ctx, o.Root, env, "go", "build", "-buildvcs=false", "-ldflags", linker, "-o", built, "./cmd/"+p.name); err != nil {
		return fmt.Errorf("build %s for %s: %w", p.name, platform, err)
	}
	members := []member{{p.name, built, 0o755}}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		members = append(members, member{name, filepath.Join(o.Root, name), 0o644})
	}
	base := filepath.Join(o.Out, p.archive)
	if err := writeArchive(base+".tar.gz", c.time, members); err != nil {
		return err
	}
	o.log("%s.tar.gz: built in %s", p.archive, time.Since(began).Round(time.Second))
	return o.materials(base, p.name, c.time, []string{built})
}

// output runs a command in a folder and returns its standard output. A nil environment is the user's.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = dir, env
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return stdout.String(), nil
}
