package backend

import (
	"path/filepath"
	"strings"
)

// bookkeeping is the folder of a file backend with all files of Pulumi. The layout below it is that of Pulumi's package
// pkg/backend/diy.
const bookkeeping = ".pulumi"

// stateSuffixes are the suffixes of a state file: plain, or compressed if PULUMI_DIY_BACKEND_GZIP or
// PULUMI_DIY_BACKEND_ZSTD, or an older name of one of these variables, is set.
var stateSuffixes = []string{".json", ".json.gz", ".json.zst"}

// stateBase returns the path of a stack's state file without its suffix, below the folder of the stack's file backend. stack
// is the stack's name without an organization.
func stateBase(project, stack string) string {
	return filepath.Join(bookkeeping, "stacks", project, stack)
}

// TrimState returns the slash-separated path of a state file without its suffix. ok is false for all other files.
func TrimState(file string) (base string, ok bool) {
	for _, suffix := range stateSuffixes {
		if base, ok := strings.CutSuffix(file, suffix); ok {
			return base, strings.Contains("/"+base, "/"+bookkeeping+"/stacks/")
		}
	}
	return "", false
}

// Locks returns the folder with the locks of a stack, below the folder of its file backend. A lock is a file whose name ends
// in .json. stack is the stack's name without an organization.
func Locks(project, stack string) string {
	return filepath.Join(bookkeeping, "locks", "organization", project, stack)
}

// lockSuffix ends the name of a lock.
const lockSuffix = ".json"

// halfWrittenSuffix ends the name of a file that Pulumi has not completely written. Package blob/fileblob of gocloud.dev
// creates the file with the final name, a time and this suffix, writes it, and renames it. Pulumi sets no_tmp_dir, so the
// file lies in the folder of the final one.
const halfWrittenSuffix = ".tmp"
