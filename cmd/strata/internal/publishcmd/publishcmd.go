// Package publishcmd contains the command `strata publish`.
package publishcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/signing"
)

// flags are the flags of the command.
type flags struct {
	team, repository, tag, key string
	output                     cli.Output
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "publish [PATH] (--team NAME | --repository URL --key FILE)",
		Short: "Publish a folder as a signed artifact that Flux applies",
		Long: `Publish a folder, by default the current one, as a signed artifact that Flux applies, for a team with "source: oci" in teams.yaml:

  1. pack the files, without .git and what .sourceignore lists; the same files give the same digest
  2. sign the artifact in cosign's format, and attest the commit that it comes from
  3. push the artifact, the signature and the attestation, and then the version's tag

Flux applies the highest version, and refuses an artifact that is not signed, or that is older than the one that runs. Without
--tag, the version is the next one. With --team, the local platform's registry and the team's key in the home are used. With
--repository, the login of Docker's configuration and the key in a file; its public key belongs into publishers in teams.yaml.`,
		Example: `  # the current folder, as the next version of team web
  strata publish --team web

  # a folder, as a version of your choice
  strata publish deploy --team web --tag 1.4.0

  # to a registry on the Internet, as in continuous integration
  strata publish deploy --repository oci://europe-docker.pkg.dev/example/team-web/deploy --key publisher.key`,
		Args: o.Arguments(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(command *cobra.Command, args []string) error {
			if (f.team == "") == (f.repository == "") {
				return o.Usage(errors.New("give either --team or --repository"))
			}
			options, err := f.options(command.Context(), o)
			if err != nil {
				return err
			}
			if options.Dir = "."; len(args) > 0 {
				options.Dir = args[0]
			}
			options.Version = f.tag
			result, err := publish.Publish(command.Context(), options)
			if err != nil {
				return err
			}
			return f.output.Print(o.Out, result, func() error {
				what := "published"
				if !result.Published {
					what = "already published:"
				}
				_, err := fmt.Fprintf(o.Out, "%s %s\n", what, result.Reference)
				return err
			})
		},
	}
	command.Flags().StringVar(&f.team, "team", "", "publish as this team to the local platform's registry")
	command.Flags().StringVar(&f.repository, "repository", "", "publish to this repository of a registry: oci://HOST/PATH")
	command.Flags().StringVar(&f.tag, "tag", "", "version of the artifact, such as 1.4.0; empty means the next one")
	command.Flags().StringVar(&f.key, "key", "", "file with the private key that signs, in PEM; empty means the team's key in the home")
	_ = command.RegisterFlagCompletionFunc("team", complete.Teams(o.Local))
	_ = command.RegisterFlagCompletionFunc("key", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	for _, free := range []string{"repository", "tag"} {
		_ = command.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions)
	}
	f.output.Bind(command)
	return command
}

// options returns the options of the publication without its folder and version.
func (f *flags) options(ctx context.Context, o cli.Options) (publish.Options, error) {
	var options publish.Options
	if f.team != "" {
		p, err := o.Local()
		if err != nil {
			return options, err
		}
		if options, err = p.Publication(ctx, f.team); err != nil {
			return options, err
		}
	} else {
		repository, isOCI := strings.CutPrefix(f.repository, "oci://")
		if !isOCI {
			return options, o.Usage(fmt.Errorf("--repository %s does not begin with oci://", f.repository))
		}
		if f.key == "" {
			return options, o.Usage(errors.New("--repository needs --key: create a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE`"))
		}
		options.Repository = repository
	}
	if f.key == "" {
		return options, nil
	}
	key, err := signing.ReadKey("the key", f.key)
	options.Key = key
	return options, err
}
