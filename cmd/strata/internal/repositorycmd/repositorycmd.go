// Package repositorycmd contains the commands for an organisation's repository: `strata init` and `strata upgrade`.
package repositorycmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/buildinfo"
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

// errChanges sets the exit code of `upgrade --check` with changes.
var errChanges = errors.New("the repository pins another Strata")

// Upgrade returns the command upgrade.
func Upgrade(o cli.Options) *cobra.Command {
	var check bool
	command := &cobra.Command{
		Use:   "upgrade",
		Short: "Pin this strata in an organisation's repository",
		Long: `Pin this strata in an organisation's repository: in strata.yaml its version, the commit of its layer 3 and the versions that
it runs; in go.mod the version of its module. The command changes no other file, and no platform: strata layer preview shows
the changes of a platform, and strata up makes them.

--check prints the changes and the commands that make them, and changes nothing. Its exit code is 1 if there are changes.

-o json prints {"strata", "changes": [{"name", "pinned", "offered"}], "next"}.`,
		Example: `  strata upgrade --check
  strata upgrade`,
		Args: o.Arguments(positional.None),
	}
	var output cli.Output
	output.Bind(command)
	command.Flags().BoolVar(&check, "check", false, "print the changes, and change nothing")
	command.RunE = func(*cobra.Command, []string) error {
		found, err := repository.Here()
		if err != nil {
			return err
		}
		change := found.Upgrade
		if check {
			change = found.Compare
		}
		upgrade, err := change(buildinfo.Version)
		if err != nil {
			return err
		}
		if !check && len(upgrade.Next) > 0 {
			upgrade.Next = upgrade.Next[1:] // Without the command itself.
		}
		err = output.Print(o.Out, upgrade, func() error {
			printUpgrade(o.Out, upgrade)
			return nil
		})
		if err == nil && check && len(upgrade.Changes) > 0 {
			return errChanges
		}
		return err
	}
	return command
}

func printUpgrade(out io.Writer, u repository.Upgrade) {
	if len(u.Changes) == 0 {
		fmt.Fprintf(out, "the repository pins this strata %s\n", u.Strata)
		return
	}
	for _, each := range u.Changes {
		fmt.Fprintf(out, "%-26s %s -> %s\n", each.Name, each.Pinned, each.Offered)
	}
	printNext(out, u.Next)
}

func printNext(out io.Writer, commands []string) {
	fmt.Fprintln(out, "\nNext:")
	for _, each := range commands {
		fmt.Fprintln(out, "  "+each)
	}
}
