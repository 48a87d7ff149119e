package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/local/tools"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/toolchain"
)

func newToolchain(io streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "toolchain",
		Short: "List, build, fetch or prune the programs of the local target",
		Example: `  strata toolchain list
  strata toolchain build --all
  strata toolchain prune`,
	}, newToolchainList(io), newToolchainBuild(io), newToolchainFetch(io), newToolchainPrune(io))
}

// openToolchain opens the toolchain of a clone, or outside of one that of this program.
func openToolchain() (*toolchain.Toolchain, error) {
	found, err := repository.HereOrNone()
	if err != nil {
		return nil, err
	}
	return toolchain.Open(found.Root)
}

func newToolchainList(io streams) *cobra.Command {
	var o output
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the tools, their pinned versions and whether they are built",
		Example: "  strata toolchain list -o json",
		Args:    arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			tc, err := openToolchain()
			if err != nil {
				return err
			}
			list, err := tc.List(command.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return render.JSON(io.out, list)
			}
			return render.Tools(io.out, list)
		},
	}
	o.bind(command)
	return command
}

func newToolchainBuild(io streams) *cobra.Command {
	var o output
	var all bool
	command := &cobra.Command{
		Use:   "build [TOOL ...]",
		Short: "Build the named tools, or all",
		Example: `  strata toolchain build etcd kube-apiserver
  strata toolchain build --all -o json`,
		RunE: func(command *cobra.Command, names []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			if all == (len(names) > 0) {
				return usageError{fmt.Errorf("name the tools to build, or use --all")}
			}
			tc, err := openToolchain()
			if err != nil {
				return err
			}
			if all {
				names = tc.Names()
			}
			show := progress.New(io.err)
			err = show.Run("toolchain", func() (string, error) {
				return "", tools.Ensure(command.Context(), tc, show, names...)
			})
			if err != nil || !asJSON {
				return err
			}
			list, err := tc.List(command.Context())
			if err != nil {
				return err
			}
			return render.JSON(io.out, slices.DeleteFunc(list, func(s toolchain.Status) bool { return !slices.Contains(names, s.Name) }))
		},
	}
	o.bind(command)
	command.Flags().BoolVar(&all, "all", false, "build all tools")
	return command
}

func newToolchainPrune(io streams) *cobra.Command {
	var o output
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove built tools that this clone does not use",
		Long: `Remove tools from the cache that this clone does not use: tools of other pins or of another version of Go, and the files of
killed builds. Another clone that uses them builds them again. prune removes nothing while one of these programs runs.`,
		Example: "  strata toolchain prune",
		Args:    arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			tc, err := openToolchain()
			if err != nil {
				return err
			}
			removed, err := tc.Prune(command.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return render.JSON(io.out, append([]toolchain.Leftover{}, removed...))
			}
			render.Removed(io.out, removed)
			return nil
		},
	}
	o.bind(command)
	return command
}
