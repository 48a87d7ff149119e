// Package versioncmd contains the command `strata version`.
package versioncmd

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/toolchain"
)

// Options connect the command to the command line of strata. All fields are required.
type Options struct {
	Out io.Writer
	// Open opens the toolchain.
	Open func() (*toolchain.Toolchain, error)
	// Args checks that the call has no arguments.
	Args cobra.PositionalArgs
	// Usage turns an error into one about the arguments of the call.
	Usage func(error) error
}

// Report is the output with -o json and -o yaml.
type Report struct {
	buildinfo.Info
	// Bundle is the digest of the bundle of prebuilt tools that belongs to a release, or empty.
	Bundle string          `json:"bundle,omitempty"`
	Tools  []toolchain.Pin `json:"tools"`
	// ToolsError is the reason why Tools is empty.
	ToolsError string `json:"toolsError,omitempty"`
}

// New returns the command.
func New(o Options) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit of strata, and the versions of the tools that it pins",
		Example: `  strata version
  strata version -o json`,
		Args: o.Args,
		RunE: func(*cobra.Command, []string) error {
			report := Report{Info: buildinfo.Read(), Bundle: toolchain.BundleDigest(), Tools: []toolchain.Pin{}}
			if tools, err := o.Open(); err != nil {
				report.ToolsError = err.Error()
			} else {
				report.Tools = tools.Pins()
			}
			switch format {
			case "text":
				return report.print(o.Out)
			case "json":
				return render.JSON(o.Out, report)
			case "yaml":
				text, err := yaml.Marshal(report)
				if err != nil {
					return err
				}
				_, err = o.Out.Write(text)
				return err
			}
			return o.Usage(fmt.Errorf("unknown output %q: use text, json or yaml", format))
		},
	}
	command.Flags().StringVarP(&format, "output", "o", "text", "output format: text, json or yaml")
	return command
}

// print prints the report for people. The first line is the version alone.
func (r Report) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, r.Version)
	commit := r.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case r.Modified:
		commit += ", with changes that are not committed"
	}
	fmt.Fprintf(table, "\ncommit\t%s\n", commit)
	fmt.Fprintf(table, "go\t%s, %s/%s\n", r.Go, r.OS, r.Arch)
	bundle := r.Bundle
	if bundle == "" {
		bundle = "none: this strata is not from a release"
	}
	fmt.Fprintf(table, "bundle\t%s\n\n", bundle)
	if r.ToolsError != "" {
		fmt.Fprintf(table, "tools\tunknown: %s\n", r.ToolsError)
	}
	for _, t := range r.Tools {
		fmt.Fprintf(table, "%s\t%s\n", t.Name, t.Version)
	}
	return table.Flush()
}
