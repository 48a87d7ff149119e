package doctor

import (
	"bytes"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// oldGo reports whether the go command is too old to build the tools. Its tools are not those of this version of Strata, so doctor neither
// lists nor counts them: a remedy would remove the tools that the right version of Go needs.
func oldGo(f Facts) bool { return f.GoError == nil && version.Compare(f.Go, f.NeedsGo) < 0 }

// denied returns an error if this user cannot create files in dir, or below its nearest existing parent.
func denied(dir string) error {
	at := existing(dir)
	if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("this user cannot write to %s: %w", at, err)
	}
	return nil
}

// checkAccess checks that this user can write to the home and to the cache. In the clone of another user, the home is by
// default a folder of that user.
func checkAccess(f Facts) []Finding {
	var findings []Finding
	for _, folder := range []struct {
		name, variable, example string
		err                     error
	}{
		{"home", "STRATA_HOME", "export STRATA_HOME=\"$HOME/.strata\"", f.HomeDenied},
		{"cache", "XDG_CACHE_HOME", "export XDG_CACHE_HOME=\"$HOME/.cache\"", f.CacheDenied},
	} {
		if folder.err != nil {
			findings = append(findings, found(folder.name, Missing, fmt.Sprintf("name a folder of your own in %s, for example: %s", folder.variable, folder.example),
				"%v", folder.err)...)
		}
	}
	return findings
}

// sharing returns the other homes of this user whose supervisors run with the same repository, and thus the same teams.yaml, as
// the supervisor of a home. proc is the mount point of proc(5); without it, there are none.
func sharing(proc, home string) []string {
	commands, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "cmdline"))
	repositories := map[string]string{}
	for _, path := range commands {
		raw, err := os.ReadFile(path)
		words := strings.Split(string(bytes.TrimRight(raw, "\x00")), "\x00")
		if err != nil || len(words) < 2 || words[1] != supervisor.Command {
			continue
		}
		// Another user's process can claim any folder, so only processes of this user count.
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !ofThisUser(info) {
			continue
		}
		if dir := valueOf(words, "--home"); dir != "" {
			repositories[dir] = valueOf(words, "--repository")
		}
	}
	var others []string
	for other, repository := range repositories {
		if other != home && repository != "" && repository == repositories[home] {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	return others
}

// valueOf returns the word after a flag; empty if there is none.
func valueOf(words []string, flag string) string {
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// checkSharing notes the homes that share teams.yaml: a change of the file concerns all of them.
func checkSharing(f Facts) []Finding {
	if len(f.Sharing) == 0 {
		return nil
	}
	return found("teams", Note, "run `strata up` for each home after a change of teams.yaml; `strata team remove` looks for Stacks only in this home",
		"teams.yaml is also that of %s", strings.Join(f.Sharing, ", "))
}

// ofThisUser reports whether a file belongs to this user.
func ofThisUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
