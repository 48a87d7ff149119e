package render

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/strata-platform/strata/internal/toolchain"
)

// Tools prints one line for each tool: its name, version, state and module.
func Tools(out io.Writer, list []toolchain.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, tool := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", tool.Name, tool.Version, tool.State, tool.Module)
	}
	return table.Flush()
}

// Removed prints the removed tools, and the disk space that they used.
func Removed(out io.Writer, removed []toolchain.Leftover) {
	var freed int64
	for _, l := range removed {
		fmt.Fprintf(out, "removed %s (%d MB)\n", filepath.Base(l.Path), l.Bytes/1e6)
		freed += l.Bytes
	}
	fmt.Fprintf(out, "%d MB freed\n", freed/1e6)
}
