package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/strata-platform/strata/internal/local/machine/images/desk"
	"github.com/strata-platform/strata/internal/terminal"
)

// Images prints images as a table: the reference that a Deployment names, the size, the namespaces, and the last use.
func Images(w io.Writer, list []desk.Image) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no images")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REFERENCE\tSIZE\tNAMESPACES\tKEPT\tLAST USED")
	for _, image := range list {
		const megabyte = 1 << 20
		kept, used := "no", "never"
		if image.Kept {
			kept = "yes"
		}
		if image.Used != nil {
			used = image.Used.Local().Format("2006-01-02 15:04")
		}
		namespaces := "all"
		if len(image.Namespaces) != 1 || image.Namespaces[0] != "*" {
			namespaces = strings.Join(image.Namespaces, ", ")
		}
		// A bundle, and a registry's client, choose the reference.
		fmt.Fprintf(table, "%s\t%d MB\t%s\t%s\t%s\n", terminal.Line(image.Reference, longestLine), (image.Bytes+megabyte-1)/megabyte, terminal.Line(namespaces, longestLine), kept, used)
	}
	return table.Flush()
}
