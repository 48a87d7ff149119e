package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/approvecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/auditcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/backupcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/cataloguecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/checkcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/conformancecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/driftcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/eventscmd"
	"github.com/strata-platform/strata/cmd/strata/internal/forwardcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/imagecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/kubeconfigcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/ledgercmd"
	"github.com/strata-platform/strata/cmd/strata/internal/logscmd"
	"github.com/strata-platform/strata/cmd/strata/internal/plancmd"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/publishcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/rehearsecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/cmd/strata/internal/repositorycmd"
	"github.com/strata-platform/strata/cmd/strata/internal/rotatecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/upgradecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/versioncmd"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/status/wait"
	operator "github.com/strata-platform/strata/operator/command"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	// exitTeams means that the platform is ready, and a team is not.
	exitTeams = 3
)

// version is the version of strata, and the tag of the operator's image.
const version = buildinfo.Version

// streams are the standard streams of a call.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is the error of a call with wrong arguments or flags.
type usageError struct{ error }

// run executes one call of strata and returns its exit code.
func run(ctx context.Context, args []string, io streams) int {
	began := false
	root := newRoot(io, &began)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNotReady):
		return exitFailed
	case errors.As(err, &usage), !began:
		fmt.Fprintf(io.err, "strata: %s\nRun '%s --help' for usage.\n", render.Error(err), command.CommandPath())
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(io.err, "strata: interrupted; run the same command again to continue, or `%s` to stop all processes\n", callHome("local stop"))
		return exitFailed
	}
	fmt.Fprintf(io.err, "strata: %s\n", render.Error(err))
	if teams := (*wait.TeamsError)(nil); errors.As(err, &teams) {
		return exitTeams
	}
	if exit := (*cli.Exit)(nil); errors.As(err, &exit) {
		return exit.Code
	}
	return exitFailed
}

// newRoot returns the root command. It sets began when the arguments are parsed and the command starts.
func newRoot(io streams, began *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "strata",
		Short: "Bootstrap a platform with Pulumi, hand it to Flux, and let app teams commit their infrastructure",
		Example: `  # everything on this machine, and its status
  strata up
  strata status

  # delete all of it
  strata down --purge --yes

  # complete commands, teams and flags in this shell
  source <(strata completion bash)`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		PersistentPreRun: func(*cobra.Command, []string) {
			*began = true
		},
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	hidden := operator.New()
	hidden.Hidden = true
	root.AddCommand(
		newUp(io), newStatus(io), newDown(io),
		newLayer(io), newEnv(io), kubeconfigcmd.New(options(io)), newTeam(io), imagecmd.New(options(io)),
		cataloguecmd.New(options(io)), cataloguecmd.Order(options(io)), repositorycmd.Init(options(io)), upgradecmd.New(options(io)), repositorycmd.Mirror(options(io)),
		checkcmd.New(options(io)), checkcmd.Schema(options(io)), plancmd.New(options(io)), approvecmd.New(options(io)), publishcmd.New(options(io)), driftcmd.New(options(io)),
		forwardcmd.PortForward(options(io)), forwardcmd.Open(options(io)), newLocal(io), backupcmd.New(options(io)), backupcmd.Restore(options(io)), rotatecmd.New(options(io)), rehearsecmd.New(options(io)),
		logscmd.New(options(io)), eventscmd.New(options(io)), ledgercmd.NewWhy(options(io)), ledgercmd.NewHistory(options(io)),
		newDoctor(io), auditcmd.New(options(io)), conformancecmd.New(options(io)), newToolchain(io), versioncmd.New(options(io)), newCompletion(io), newSupervisor(), hidden,
	)
	return root
}

// openLocal opens the local platform of the repository that [repository.Here] finds. An empty environment means the
// environment of the home.
func openLocal(environment string) (*local.Platform, error) {
	found, err := repository.Here()
	if err != nil {
		return nil, err
	}
	return local.Open(found.Root, home.In(found.Root), environment)
}

// atHome opens the local platform with the environment of its home.
func atHome() (*local.Platform, error) { return openLocal("") }

// repositoryRoot returns the folder of the repository that [repository.Here] finds.
func repositoryRoot() (string, error) { found, err := repository.Here(); return found.Root, err }

// callHome returns a command line of strata for the home, for messages.
func callHome(words string) string {
	if found, err := repository.Here(); err == nil {
		if h, err := home.At(home.In(found.Root)); err == nil {
			return h.Call(words)
		}
	}
	return "strata " + words
}

// group turns a command into a group of subcommands. Without a subcommand, the group prints its help.
func group(command *cobra.Command, below ...*cobra.Command) *cobra.Command {
	command.Args = arguments(positional.NoOther)
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	command.DisableFlagsInUseLine = true
	command.AddCommand(below...)
	return command
}

// arguments returns a usage error for a wrong number of arguments.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
