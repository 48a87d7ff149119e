// Package fetchcmd contains the command `strata toolchain fetch`.
package fetchcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
)

// errNoDigest is the error of a strata that knows no bundle.
var errNoDigest = errors.New("this strata is not from a release, so it has no checksum of a bundle: verify SHA256SUMS of the release, " +
	"and pass the digest of the bundle's .manifest.json with --sha256")

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var digest string
	var output cli.Output
	command := &cobra.Command{
		Use:   "fetch URL|FOLDER|FILE",
		Short: "Take prebuilt tools from a release, so that this machine needs no Go",
		Long: `Copy the missing tools from the bundle of a release into the cache. The argument is the bundle, ` + prebuilt.FileName("VERSION", "OS_ARCH") + `,
or the folder that contains it. The machine then needs no Go for the local target. Tools that are already there are not copied.

The strata of a release contains the checksum of its bundle, and accepts no other bundle. Another strata needs --sha256. After an
error, no tool has changed. If a connection breaks, fetch continues where it broke.`,
		Example: `  strata toolchain fetch https://example.com/strata/` + buildinfo.Version + `
  strata toolchain fetch dist`,
		Args: o.Arguments(positional.One), ValidArgsFunction: complete.Files,
		RunE: func(command *cobra.Command, args []string) error {
			trusted, err := trust(digest)
			if err != nil {
				return err
			}
			tools, err := o.Toolchain()
			if err != nil {
				return err
			}
			var names []string
			show := progress.New(o.Err)
			err = show.Run("prebuilt tools", func() (string, error) {
				file := prebuilt.FileName(buildinfo.Version, prebuilt.ThisPlatform())
				names, err = tools.Fetch(command.Context(), args[0], file, trusted, reporter(show))
				if len(names) == 0 {
					return "all tools are there", err
				}
				return fmt.Sprintf("%d tools fetched", len(names)), err
			})
			if err != nil {
				return err
			}
			list, err := tools.List(command.Context())
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(s toolchain.Status) bool { return !slices.Contains(names, s.Name) })
			return output.Print(o.Out, list, func() error { return nil })
		},
	}
	output.Bind(command)
	command.Flags().StringVar(&digest, "sha256", "", "checksum of the bundle's manifest, for a strata that is not from the same release")
	complete.Flag(command, "sha256", complete.Nothing)
	command.PreRunE = func(*cobra.Command, []string) error {
		digest = strings.ToLower(strings.TrimPrefix(digest, "sha256:"))
		if digest == "" {
			return nil
		}
		if err := prebuilt.CheckDigest(digest); err != nil {
			return o.Usage(fmt.Errorf("--sha256 is %q: %w", digest, err))
		}
		return nil
	}
	return command
}

// trust returns the digest that the bundle must have: the user's, or that of this release.
func trust(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if own := toolchain.BundleDigest(); own != "" {
		return own, nil
	}
	return "", errNoDigest
}

// noteEvery is the interval between two lines about a running download without a terminal.
const noteEvery = 10 * time.Second

// reporter returns a function that shows the progress.
func reporter(show *progress.Reporter) func(done, all int64) {
	last := time.Now()
	return func(done, all int64) {
		const text, megabyte = "%d of %d MB", 1_000_000
		if show.Terminal() {
			show.Detail(text, done/megabyte, all/megabyte)
		} else if time.Since(last) > noteEvery {
			last = time.Now()
			show.Note(text, done/megabyte, all/megabyte)
		}
	}
}
