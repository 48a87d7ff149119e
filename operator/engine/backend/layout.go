package backend

import (
	"path/filepath"
	"strings"
)

// bookkeeping is the folder of a file backend with all files of Pulumi. The layout below it is that of Pulumi's package
// pkg/backend/diy.
const bookkeeping = ".pulumi"

// stateSuffixes are the suffixes of a state file: plain, or compressed if PULUMI_DIY_BACKEND_GZIP or
// PULUMI_DIY_BACKEND_ZSTD is set.
var stateSuffixes = []string{".json", ".json.gz", ".json.zst"}

// stateBase returns the path of a stack's state file without its suffix.
func stateBase(project, stack string) string {
	return filepath.Join(bookkeeping, "stacks", project, stack)
}

// trimState returns the slash-separated path of a state file without its suffix. ok is false for all other files.
func trimState(file string) (base string, ok bool) {
	for _, suffix := range stateSuffixes {
		if base, ok := strings.CutSuffix(file, suffix); ok {
			return base, strings.Contains("/"+base, "/"+bookkeeping+"/stacks/")
		}
	}
	return "", false
}
