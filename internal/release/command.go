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
)

// module is the path of Strata's module.
const module = "github.com/strata-platform/strata"

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

// command writes the archive of the command for a platform, and its bill of materials. digest is the digest of the platform's
// bundle, or empty.
func (o Options) command(ctx context.Context, c commit, platform, digest string) error {
	began := time.Now()
	stage, err := os.MkdirTemp("", "strata-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	program := filepath.Join(stage, "strata")
	system, arch, _ := strings.Cut(platform, "/")
	// These variables replace the user's, so that the program depends on the commit and on Go alone.
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+system, "GOARCH="+arch)
	linker := fmt.Sprintf("-s -w -X %[1]s/internal/buildinfo.commit=%[2]s -X %[1]s/internal/buildinfo.modified=%[3]t -X %[1]s/internal/toolchain.bundleDigest=%[4]s",
		module, c.hash, c.modified, digest)
	if _, err := output(ctx, o.Root, env, "go", "build", "-buildvcs=false", "-ldflags", linker, "-o", program, "./cmd/strata"); err != nil {
		return fmt.Errorf("build strata for %s: %w", platform, err)
	}
	base := filepath.Join(o.Out, "strata_"+buildinfo.Version+"_"+system+"_"+arch)
	members := []member{{"strata", program, 0o755}}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		members = append(members, member{name, filepath.Join(o.Root, name), 0o644})
	}
	if err := writeArchive(base+".tar.gz", c.time, members); err != nil {
		return err
	}
	note := ", with the digest of its bundle"
	if digest == "" {
		note = ", without a bundle: BUNDLES names a folder with those of other platforms"
	}
	o.log("%s.tar.gz: built in %s%s", filepath.Base(base), time.Since(began).Round(time.Second), note)
	return o.materials(base, "strata", c.time, []string{program})
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
