// Package publishcmd contains the command `strata publish`.
package publishcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/publish/keyless"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/signing"
)

// flags are the flags of the command.
type flags struct {
	team, repository, tag, key string
	fulcio, rekor              string
	platform                   bool
	output                     cli.Output
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "publish [PATH] (--team NAME | --platform | --repository URL --key FILE)",
		Short: "Publish a folder as a signed artifact that Flux applies",
		Long: `Publish a folder, by default the current one, as a signed artifact that Flux applies, for a team with "source: oci" in teams.yaml:

  1. pack the files, without .git and what .sourceignore lists; the same files give the same digest
  2. sign the artifact in cosign's format, and attest the commit that is checked out, if it contains exactly these files
  3. push the artifact, the signature and the attestation, and then the version's tag

Flux applies the highest version, and refuses an artifact that is not signed, or that is older than the one that runs. Without
--tag, the version is the next one. With --team, the local platform's registry and the team's key in the home are used. With
--repository, the login of Docker's configuration and the key in a file; its public key belongs into publishers in teams.yaml.

Without --key, --repository signs by the identity of the job, if the environment offers a token of OpenID Connect: in
SIGSTORE_ID_TOKEN, as GitLab's id_tokens give it, or from GitHub Actions with the permission id-token: write. The public Sigstore then
publishes the identity and the digest. The identity belongs into teams.yaml.

With --platform, the artifact is the platform itself: the folders of layer 3 and of the catalogue in this repository, which Flux
applies if platformUrl of layer 2 begins with oci://. Without --repository, the local platform's registry and the platform's key in the
home are used. The public key belongs into platformPublishers of layer 2.`,
		Example: `  # the current folder, as the next version of team web
  strata publish --team web

  # a folder, as a version of your choice
  strata publish deploy --team web --tag 1.4.0

  # the platform itself, on a platform that was created with strata up --source oci
  strata publish --platform

  # to a registry on the Internet, as in continuous integration
  strata publish deploy --repository oci://europe-docker.pkg.dev/example/team-web/deploy --key publisher.key

  # the same without a key, in a job of GitHub Actions
  strata publish deploy --repository oci://europe-docker.pkg.dev/example/team-web/deploy`,
		Args: o.Arguments(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(command *cobra.Command, args []string) error {
			if f.team != "" == (f.platform || f.repository != "") {
				return o.Usage(errors.New("give either --team, --platform or --repository; --repository may follow --platform"))
			}
			if f.platform && len(args) > 0 {
				return o.Usage(errors.New("--platform publishes the folders of the platform's repository: leave out PATH"))
			}
			options, err := f.options(command.Context(), o)
			if err != nil {
				return err
			}
			if options.Dir == "" {
				options.Dir = "."
			}
			if len(args) > 0 {
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
				if result.Origin.Commit == "" {
					fmt.Fprintf(o.Err, "the artifact attests no commit: %s\n", result.Origin.Reason)
				}
				_, err := fmt.Fprintf(o.Out, "%s %s\n", what, result.Reference)
				return err
			})
		},
	}
	command.Flags().StringVar(&f.team, "team", "", "publish as this team to the local platform's registry")
	command.Flags().BoolVar(&f.platform, "platform", false, "publish the platform itself, which Flux applies under the platform account")
	command.Flags().StringVar(&f.repository, "repository", "", "publish to this repository of a registry: oci://HOST/PATH")
	command.Flags().StringVar(&f.tag, "tag", "", "version of the artifact, such as 1.4.0; empty means the next one")
	command.Flags().StringVar(&f.key, "key", "", "file with the private key that signs, in PEM; empty means the key in the home")
	command.Flags().StringVar(&f.fulcio, "fulcio", keyless.Fulcio, "address of Sigstore's Fulcio, for a signature without a key")
	command.Flags().StringVar(&f.rekor, "rekor", keyless.Rekor, "address of Sigstore's Rekor, for a signature without a key")
	_ = command.RegisterFlagCompletionFunc("team", complete.Teams(o.Local))
	_ = command.RegisterFlagCompletionFunc("key", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	for _, free := range []string{"repository", "tag", "fulcio", "rekor"} {
		_ = command.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions)
	}
	f.output.Bind(command)
	return command
}

// options returns the options of the publication without its version, and without its folder unless that is the platform's.
func (f *flags) options(ctx context.Context, o cli.Options) (publish.Options, error) {
	options, err := f.destination(ctx, o)
	if err != nil || f.key == "" {
		return options, err
	}
	options.Key, err = signing.ReadKey("the key", f.key)
	return options, err
}

func (f *flags) destination(ctx context.Context, o cli.Options) (publish.Options, error) {
	if f.repository == "" {
		p, err := o.Local()
		if err != nil {
			return publish.Options{}, err
		}
		if f.platform {
			return p.PlatformPublication(ctx)
		}
		return p.Publication(ctx, f.team)
	}
	address, isOCI := strings.CutPrefix(f.repository, "oci://")
	if !isOCI {
		return publish.Options{}, o.Usage(fmt.Errorf("--repository %s does not begin with oci://", f.repository))
	}
	options := publish.Options{Repository: address}
	if f.key == "" {
		token, err := keyless.Token(ctx, os.Getenv)
		if errors.Is(err, keyless.ErrNoToken) {
			return options, o.Usage(fmt.Errorf("--repository needs --key: create a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE`; "+
				"without --key, the identity of a job signs, but %w", err))
		}
		if err != nil {
			return options, err
		}
		options.Keyless = &keyless.Signer{Token: token, FulcioURL: f.fulcio, RekorURL: f.rekor}
	}
	if !f.platform {
		return options, nil
	}
	root, err := o.Root()
	if err != nil {
		return options, err
	}
	options.Dir = root
	options.Folders, err = repository.At(root).PlatformFolders()
	return options, err
}
