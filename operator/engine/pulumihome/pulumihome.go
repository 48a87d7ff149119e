// Package pulumihome prepares PULUMI_HOME, the folder in which pulumi keeps its own files.
package pulumihome

import (
	"fmt"
	"os"
	"path/filepath"
)

// note tells a reader of the file why there is no log.
const note = "This file replaces the folder of pulumi's automatic logs, because they cost a tenth of the time of a run.\n"

// WithoutLogs turns off pulumi's automatic logs in a home, which need not exist yet, and removes those of earlier versions
// of Strata. Pulumi v3.258 has no option for it, but runs without a log if it cannot create the folder logs.
func WithoutLogs(home string) error {
	path := filepath.Join(home, "logs")
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("turn off pulumi's logs: %w", err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("turn off pulumi's logs: %w", err)
	}
	if err := os.WriteFile(path, []byte(note), 0o600); err != nil {
		return fmt.Errorf("turn off pulumi's logs: %w", err)
	}
	return nil
}
