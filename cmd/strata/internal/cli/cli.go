// Package cli contains the code that the packages of strata's commands share: the connection to the command line, and the flags
// -o and --timeout.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/toolchain"
)

// Options connect a group of commands to the command line of strata. All fields are required.
type Options struct {
	In       io.Reader
	Out, Err io.Writer
	// Bind adds the flags that choose the output and the platform to a command, and returns their values. formats are formats of the
	// output beside those that every command has; Print prints its text for them.
	Bind func(command *cobra.Command, formats ...string) Call
	// Local opens the local platform, for commands that exist only on this target.
	Local func() (*local.Platform, error)
	// Root returns the folder of the repository: that of teams.yaml and of the layers.
	Root func() (string, error)
	// Toolchain opens the toolchain of the repository.
	Toolchain func() (*toolchain.Toolchain, error)
	// Group turns a command into a group of subcommands.
	Group func(*cobra.Command, ...*cobra.Command) *cobra.Command
	// Arguments turns the errors of a check of the positional arguments into usage errors.
	Arguments func(cobra.PositionalArgs) cobra.PositionalArgs
	// Usage turns an error into a usage error, for which strata exits with code 2.
	Usage func(error) error
}

// Call are the values of the flags of one call.
type Call interface {
	// Print prints the result, as [Output.Print] does.
	Print(w io.Writer, value any, text func() error) error
	// Open opens the local platform. On another target it returns a usage error: elsewhere, or a general one if that is nil.
	Open(elsewhere error) (*local.Platform, error)
	// Platform opens the platform of the target.
	Platform() (*lifecycle.Platform, error)
	// Namespaces returns the namespaces of a team, or of all teams, and the configuration of clients of their cluster.
	Namespaces(ctx context.Context, team string) (*rest.Config, []string, error)
}

// Exit is an error for which strata exits with a code of its own.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string { return e.Err.Error() }

// Unwrap returns the error without its code.
func (e *Exit) Unwrap() error { return e.Err }
