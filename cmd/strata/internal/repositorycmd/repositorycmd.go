// Package repositorycmd contains the commands for an organisation's repository: `strata init` and `strata mirror`.
package repositorycmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/shell"
)

// created is the output of `init -o json`.
type created struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
	Next   []string `json:"next"`
}

// Init returns the command init.
func Init(o cli.Options) *cobra.Command {
	var choices repository.Options
	command := &cobra.Command{
		Use:   "init DIR",
		Short: "Create an organisation's repository, which pins a version of Strata",
		Long: `Create an organisation's repository in DIR, a new or empty folder: the programs and the configuration of layers 1 and 2,
teams.yaml, a part of layer 3, workflows for GitHub and GitLab, and strata.yaml, which pins this strata and the commit of its
layer 3. The repository contains no files of Strata, so you update Strata with strata upgrade, and not with a merge. The command
adds the files to a new Git repository, and leaves the first commit to you.

In the repository, strata up creates the platform on this machine. It needs no Go as long as the programs in bootstrap/ and
platform/ are as init wrote them, because strata contains the same programs. After a change it compiles and runs yours.

--module-source names a clone of Strata. Go then compiles your programs with that clone, until you delete go.work. Use it if this
machine cannot download a released version of Strata.

-o json prints {"folder", "files", "next"}.`,
		Example: `  strata init platform
  strata init platform --module git.example.com/acme/platform --sync-url https://git.example.com/acme/strata`,
		Args: o.Arguments(positional.One),
	}
	var output cli.Output
	output.Bind(command)
	command.Flags().StringVar(&choices.Module, "module", "", "path of the Go module in go.mod; by default the name of DIR")
	command.Flags().StringVar(&choices.SyncURL, "sync-url", "", "Git repository with layer 3 of Strata's versions, for Google Cloud (default "+repository.SyncURL+")")
	command.Flags().StringVar(&choices.Source, "module-source", "", "clone of Strata that compiles your programs on this machine")
	complete.Flag(command, "module", complete.Nothing)
	complete.Flag(command, "sync-url", complete.Nothing)
	complete.Flag(command, "module-source", complete.Files)
	command.ValidArgsFunction = complete.Files
	command.RunE = func(command *cobra.Command, args []string) error {
		choices.Version = buildinfo.Version
		root, names, err := repository.Create(command.Context(), args[0], choices)
		if err != nil {
			return err
		}
		next := []string{"cd " + shell.Word(root), `git commit --message "Begin with Strata ` + buildinfo.Version + `"`, "strata up"}
		return output.Print(o.Out, created{root, names, next}, func() error {
			fmt.Fprintf(o.Out, "%s contains\n", root)
			for _, name := range names {
				fmt.Fprintln(o.Out, "  "+name)
			}
			printNext(o.Out, next)
			return nil
		})
	}
	return command
}

// Mirror returns the command mirror.
func Mirror(o cli.Options) *cobra.Command {
	var output cli.Output
	var limit cli.Work
	command := &cobra.Command{
		Use:   "mirror URL",
		Short: "Push Strata's part of layer 3 to your own Git repository, for Google Cloud",
		Long: `Push Strata's part of layer 3 to your own Git repository, as the branch sync/VERSION with the commit that strata.yaml pins. Flux on Google
Cloud reads it from there if sync.url in strata.yaml, or the setting strataUrl, is this URL. On this machine, strata serves the commit
itself. The command uses your own login of git, and changes no branch that has another commit.

-o json prints {"url", "branch", "commit"}.`,
		Example: "  strata mirror https://git.example.com/platform/strata.git",
		Args:    o.Arguments(positional.One),
		RunE: func(command *cobra.Command, args []string) error {
			return limit.Run(command, o.Err, func(ctx context.Context, _ *progress.Reporter) error {
				done, err := repository.Mirror(ctx, args[0], buildinfo.Version)
				if err != nil {
					return err
				}
				return output.Print(o.Out, done, func() error {
					_, err := fmt.Fprintf(o.Out, "%s has the branch %s with commit %s\n", done.URL, done.Branch, done.Commit)
					return err
				})
			})
		},
		ValidArgsFunction: complete.Nothing,
	}
	output.Bind(command)
	limit.BindTimeout(command)
	return command
}

func printNext(out io.Writer, commands []string) {
	fmt.Fprintln(out, "\nNext:")
	for _, each := range commands {
		fmt.Fprintln(out, "  "+each)
	}
}
