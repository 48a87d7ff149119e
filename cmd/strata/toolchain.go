package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/fetchcmd"
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
	}, newToolchainList(io), newToolchainBuild(io), fetchcmd.New(options(io)), newToolchainPrune(io))
}

// openToolchain opens the toolchain of the clone that contains the working folder, and otherwise the toolchain of this program.
func openToolchain() (*toolchain.Toolchain, error) {
	found, err := repository.HereOrNone()
	if err != nil {
		return nil, err
	}
	return toolchain.Open(found.Root)
}

func newToolchainList(io streams) *cobra.Command {
	var o cli.Output
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the tools, their pinned versions and whether they are built",
		Example: "  strata toolchain list -o json",
		Args:    arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			tc, err := openToolchain()
			if err != nil {
				return err
			}
			list, err := tc.List(command.Context())
			if err != nil {
				return err
			}
			return o.Print(io.out, list, func() error { return render.Tools(io.out, list) })
		},
	}
	o.Bind(command)
	return command
}

func newToolchainBuild(io streams) *cobra.Command {
	var o cli.Output
	var w cli.Work
	var all bool
	command := &cobra.Command{
		Use:   "build [TOOL ...]",
		Short: "Build the named tools, or all",
		Example: `  strata toolchain build etcd kube-apiserver
  strata toolchain build --all -o json`,
		ValidArgsFunction: complete.Tools(atHome),
		RunE: func(command *cobra.Command, names []string) error {
			// Without arguments, the command must not begin a build of all tools, which takes 20 minutes.
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
			err = w.Run(command, io.err, func(ctx context.Context, show *progress.Reporter) error {
				return show.Run("toolchain", func() (string, error) { return "", tools.Ensure(ctx, tc, show, names...) })
			})
			if err != nil || o.Text() {
				return err // In text form, the progress has already named the tools.
			}
			list, err := tc.List(command.Context())
			if err != nil {
				return err
			}
			built := slices.DeleteFunc(list, func(s toolchain.Status) bool { return !slices.Contains(names, s.Name) })
			return o.Print(io.out, built, nil)
		},
	}
	o.Bind(command)
	w.Bind(command)
	command.Flags().BoolVar(&all, "all", false, "build all tools")
	return command
}

func newToolchainPrune(io streams) *cobra.Command {
	var o cli.Output
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove built tools that this clone does not use",
		Long: `Remove tools from the cache that this clone does not use: tools of other pins or of another version of Go, and the files of
killed builds. Another clone that uses them builds them again. prune removes nothing while one of these programs runs.`,
		Example: "  strata toolchain prune",
		Args:    arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			tc, err := openToolchain()
			if err != nil {
				return err
			}
			removed, err := tc.Prune(command.Context())
			if err != nil {
				return err
			}
			return o.Print(io.out, append([]toolchain.Leftover{}, removed...), func() error { render.Removed(io.out, removed); return nil })
		},
	}
	o.Bind(command)
	return command
}
