// Package versioncmd contains the command `strata version`.
package versioncmd

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
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
	var output cli.Output
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
			return output.Print(o.Out, report, func() error { return report.print(o.Out) })
		},
	}
	output.Bind(command)
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
