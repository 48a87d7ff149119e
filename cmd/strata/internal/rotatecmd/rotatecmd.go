// Package rotatecmd contains the commands of `strata rotate`.
package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/local/rotation"
	"github.com/strata-platform/strata/internal/progress"
)

// noDatabase says what `strata rotate database` finds.
const noDatabase = "the platform has no database password: layer 1 creates none, and each user of a database belongs to a Program. A team adds a second " +
	"random:RandomPassword and gcp:sql:User to its Program, moves its Secret to them, and then removes the first: see \"Rotate secrets\" in docs/platform-team.md"

// New returns the command rotate.
func New(o cli.Options) *cobra.Command {
	return o.Group(&cobra.Command{
		Use:   "rotate",
		Short: "Replace secrets of the platform, and prove that the former ones are dead",
		Long: `Replace secrets of the platform, and prove that the former ones are dead.

Both secrets are valid until each of their clients has changed to the new one. Then the command removes the former one, tries it,
and fails unless it is refused. After a failure or a kill, run the same command again: it continues.`,
		Example: `  strata rotate passphrase
  strata rotate keys
  strata rotate git`,
	}, passphrase(o), keys(o), git(o), database(o))
}

func passphrase(o cli.Options) *cobra.Command {
	command := command(o, &cobra.Command{
		Use:   "passphrase [TEAM...]",
		Short: "Replace the passphrases that encrypt the states of teams",
		Long: `Replace the passphrases that encrypt the states of teams; without TEAM, of all teams and entries of the catalogue:

  1. layer 1 creates the new passphrases, and layer 2 hands both to the operator, which uses the one that opens a state
  2. encrypt each state with the new passphrase, while the operator runs, and delete its history and old copies
  3. wait for the runs that may still use the former passphrase, and try it on every file of the team
  4. layer 1 deletes the former passphrases

No resource of a Stack changes. Approvals that wait or that were given before an update have to be given again. If the states of
one team cannot move within five minutes, this team keeps both passphrases, and the command fails after it has rotated the others.`,
		Example: `  # of all teams
  strata rotate passphrase

  # of one team
  strata rotate passphrase web`,
		Args: o.Arguments(cobra.ArbitraryArgs),
	}, errors.New("target gke: upstream's operator knows one passphrase at a time: set tenantSecretsProvider to keys of Cloud KMS, and rotate them with "+
		"`gcloud kms keys versions create --primary --location LOCATION --keyring RING --key TEAM`; see \"Rotate secrets\" in docs/platform-team.md"),
		func(ctx context.Context, r rotation.Rotation, args []string) (rotation.Result, error) {
			return r.Passphrases(ctx, args)
		})
	command.ValidArgsFunction = complete.List(func() ([]string, error) {
		p, err := o.Local()
		if err != nil {
			return nil, err
		}
		list, err := p.Teams()
		var names []string
		for _, team := range list {
			names = append(names, team.Name)
		}
		return names, err
	})
	return command
}

func keys(o cli.Options) *cobra.Command {
	return command(o, &cobra.Command{
		Use:   "keys",
		Short: "Remove the keys of the teams' Google accounts",
		Long: `Remove the keys of the teams' Google accounts, which an earlier strata created. Stacks and pods get tokens of at most an hour
instead:

  1. layer 1 deletes the keys, and the operator gives the Stacks tokens
  2. wait until the Stacks have run with them
  3. ask the token endpoint for tokens with the former keys

A pod that has read a key from Secret strata-context cannot log in any more: use Workload Identity. If there are no keys, the
command says so, and changes nothing.`,
		Example: `  strata rotate keys`,
		Args:    o.Arguments(positional.None),
	}, errors.New("target gke: there are keys with the setting tenantKeys only: remove it with `pulumi config rm tenantKeys --cwd bootstrap`, and run `strata up --target gke`. "+
		"If a workload outside of the cluster needs its key, set the generations of the keys: `pulumi config set keyGenerations '[1,0]' --cwd bootstrap`, `strata up --target gke`, "+
		"then `pulumi config set keyGenerations '[1]' --cwd bootstrap` and `strata layer up bootstrap --target gke`"),
		func(ctx context.Context, r rotation.Rotation, _ []string) (rotation.Result, error) {
			return r.Keys(ctx)
		})
}

func git(o cli.Options) *cobra.Command {
	return command(o, &cobra.Command{
		Use:   "git",
		Short: "Replace the passwords of the Git accounts, Flux's included",
		Long: `Replace the passwords of all accounts of the home's Git server and registry:

  1. the server accepts a new password of each account beside the former one
  2. layer 2 gives the new passwords to Flux, and the home's file git-logins to the clones of people
  3. the server refuses the former passwords
  4. try both passwords of each account`,
		Example: `  strata rotate git`,
		Args:    o.Arguments(positional.None),
	}, errors.New("target gke: create the new password on your Git host, then run `pulumi config set --secret fleetPassword PASSWORD`, `strata up --target gke`, "+
		"and revoke the former one on the host; see \"Rotate secrets\" in docs/platform-team.md"),
		func(ctx context.Context, r rotation.Rotation, _ []string) (rotation.Result, error) { return r.Git(ctx) })
}

func database(o cli.Options) *cobra.Command {
	return command(o, &cobra.Command{
		Use:   "database",
		Short: "Say who rotates the passwords of databases",
		Long: `Say who rotates the passwords of databases. The platform has none: layer 1 creates the instance without one, and the users
belong to the Programs of teams and of catalogue entries. The command changes nothing.`,
		Example: `  strata rotate database`,
		Args:    o.Arguments(positional.None),
	}, nil, func(context.Context, rotation.Rotation, []string) (rotation.Result, error) {
		return rotation.Result{Secret: "database", Rotated: []rotation.Rotated{}, Nothing: noDatabase}, nil
	})
}

// command completes a command that rotates. elsewhere is the error for the target gke; nil means that the target makes no difference.
func command(
	o cli.Options, command *cobra.Command, elsewhere error, do func(context.Context, rotation.Rotation, []string) (rotation.Result, error),
) *cobra.Command {
	var w cli.Work
	call := o.Bind(command)
	w.Bind(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		var r rotation.Rotation
		if elsewhere != nil {
			var err error
			if r.Local, err = call.Open(elsewhere); err != nil {
				return err
			}
		}
		return w.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
			began := time.Now()
			r.Show = show
			result, err := do(ctx, r, args)
			if err != nil && len(result.Rotated) == 0 {
				return err
			}
			if result.Nothing == "" {
				show.Total("rotate", time.Since(began))
			}
			// The secrets of one team may not rotate, and those of the others have.
			return errors.Join(err, call.Print(o.Out, result, func() error {
				if result.Nothing != "" {
					_, err := fmt.Fprintf(o.Out, "nothing to rotate: %s\n", result.Nothing)
					return err
				}
				for _, each := range result.Rotated {
					if _, err := fmt.Fprintf(o.Out, "rotated %s of %s: %s\n", result.Secret, each.Name, each.Proof); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
	return command
}
