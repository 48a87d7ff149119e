package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion(streams streams) *cobra.Command {
	// shells maps the shells to the functions that write their scripts.
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash": func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":  (*cobra.Command).GenZshCompletion,
		"fish": func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	}
	names := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes commands, teams, logs, tools and flags in bash, zsh or fish",
		Long: `Print the script that completes commands, teams, logs, tools, Services and the values of flags in bash, zsh or fish. A completion
reads teams.yaml and the home. For Services it asks the API server, for at most a second. It starts nothing.`,
		Example: `  # bash, with the package bash-completion; put the line into ~/.bashrc
  source <(strata completion bash)

  # zsh, after compinit; put the line into ~/.zshrc
  source <(strata completion zsh)

  # fish
  strata completion fish | source`,
		ValidArgs: names,
		Args: arguments(func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && slices.Contains(names, args[0]) {
				return nil
			}
			return fmt.Errorf("give one shell: %s", strings.Join(names, ", "))
		}),
		RunE: func(command *cobra.Command, args []string) error { return shells[args[0]](command.Root(), streams.out) },
	}
}
