// Command archive writes the sources of the tools into the archive that strata embeds. It runs in internal/toolchain.
package main

import (
	"fmt"
	"os"

	"github.com/strata-platform/strata/internal/toolchain"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	root, err := toolchain.FindRoot(".")
	if err != nil {
		return err
	}
	content, err := toolchain.Archive(root)
	if err != nil {
		return err
	}
	return os.WriteFile("sources.txtar", content, 0o644)
}
