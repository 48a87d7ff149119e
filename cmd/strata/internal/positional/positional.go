// Package positional checks the positional arguments of commands.
package positional

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// None accepts no arguments.
func None(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, but got %q", command.CommandPath(), args[0])
}

// One accepts exactly the one argument that the command's usage line names.
func One(command *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("%s: give one %s", command.CommandPath(), strings.TrimPrefix(command.Use, command.Name()+" "))
}

// NoOther rejects an unknown subcommand and suggests similar ones.
func NoOther(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], command.CommandPath())
	// Cobra sets the minimum distance only for the subcommands of the root.
	command.SuggestionsMinimumDistance = 2
	if like := command.SuggestionsFor(args[0]); len(like) > 0 {
		err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(like, " or "))
	}
	return err
}
