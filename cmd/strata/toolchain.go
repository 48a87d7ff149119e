package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/toolchain"
)

func newToolchain(io streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "toolchain",
		Short: "List or build the programs that the local target consists of",
		Example: `  strata toolchain list
  strata toolchain build --all`,
	}
	command.AddCommand(newToolchainList(io), newToolchainBuild(io))
	return command
}

func newToolchainList(io streams) *cobra.Command {
	var o output
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the tools, their pinned versions and whether they are built",
		Example: "  strata toolchain list -o json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			root, err := findRepository()
			if err != nil {
				return err
			}
			tc, err := toolchain.Open(root)
			if err != nil {
				return err
			}
			list, err := tc.List(command.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, list)
			}
			table := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
			for _, tool := range list {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", tool.Name, tool.Version, tool.State, tool.Module)
			}
			return table.Flush()
		},
	}
	o.bind(command)
	return command
}

func newToolchainBuild(io streams) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use:     "build [TOOL ...]",
		Short:   "Build the named tools, or all",
		Example: "  strata toolchain build etcd kube-apiserver",
		RunE: func(command *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return usageError{fmt.Errorf("name the tools to build, or say --all")}
			}
			p, err := openLocal("")
			if err != nil {
				return err
			}
			if all {
				names = p.Toolchain.Names()
			}
			show := progress.New(io.err)
			return show.Run("toolchain", func() (string, error) {
				return "", p.EnsureTools(command.Context(), show, names...)
			})
		},
	}
	command.Flags().BoolVar(&all, "all", false, "build all tools")
	return command
}
