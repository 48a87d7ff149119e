package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// clone: clone DIR — creates a clone of Strata's repository whose last commit contains the state of the working tree, for
// a script that changes teams.yaml or commits to the clone. Flux applies commits, so the script must commit its changes.
func clone(ts *testscript.TestScript, _ bool, args []string) { ts.Check(cloneTo(ts.MkAbs(args[0]))) }

func cloneTo(dir string) error {
	var failed error
	git := func(args ...string) string {
		if failed != nil {
			return ""
		}
		command := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "safe.directory=*"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := command.Output()
		if err != nil {
			failed = fmt.Errorf("git %s: %w", args, err)
		}
		return string(out)
	}
	git("clone", "--quiet", "--shared", root, dir)
	git("-C", dir, "checkout", "--quiet", "-B", "main") // the working tree may be on another branch
	changed := git("-C", root, "diff", "--name-only", "--no-renames", "-z", "HEAD") + git("-C", root, "ls-files", "--others", "--exclude-standard", "-z")
	for name := range strings.SplitSeq(strings.TrimSuffix(changed, "\x00"), "\x00") {
		if name != "" && failed == nil {
			failed = copyFile(filepath.Join(root, name), filepath.Join(dir, name))
		}
	}
	git("-C", dir, "add", "--all")
	git("-C", dir, "commit", "--quiet", "--allow-empty", "--message=Copy the working tree")
	return failed
}

// copyFile copies a file. If the source does not exist, it removes the target.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return os.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("create the folder of %s: %w", to, err)
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
