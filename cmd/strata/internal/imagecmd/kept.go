package imagecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/images/desk"
)

func (o commands) list() *cobra.Command {
	var c *call
	command := &cobra.Command{
		Use:   "list",
		Short: "Show the images of this machine, their sizes, and who may use them",
		Long:  "Show the images of this machine, their sizes, and who may use them.\n\n" + imagesJSON,
		Example: `  strata image list
  strata image list -o json`,
		Args: o.Arguments(positional.None),
		RunE: func(*cobra.Command, []string) error {
			return o.run(c, "", func(_ context.Context, _ *local.Platform, d *desk.Desk) ([]desk.Image, error) { return d.List() })
		},
	}
	c = o.bind(command)
	return command
}

// some accepts at least one argument.
func (o commands) some(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return o.Usage(fmt.Errorf("%s: give at least one reference, such as registry.strata.local/team-web/app:v1", command.CommandPath()))
}

func (o commands) remove() *cobra.Command {
	var c *call
	command := &cobra.Command{
		Use:   "remove REFERENCE...",
		Short: "Remove images from this machine; running pods keep theirs",
		Long: `Remove images from this machine; running pods keep theirs. The command prints the images that are left. The disk space of an
image that was pushed or pulled within the last hour becomes free later.

` + imagesJSON,
		Example: "  strata image remove registry.strata.local/team-web/app:v1",
		Args:    o.some,
		RunE: func(_ *cobra.Command, args []string) error {
			return o.run(c, "remove", func(ctx context.Context, _ *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				if _, err := d.Remove(ctx, args...); err != nil {
					return nil, err
				}
				return d.List()
			})
		},
		ValidArgsFunction: o.references,
	}
	c = o.bind(command)
	return command
}

func (o commands) bundle() *cobra.Command {
	var c *call
	var file string
	command := &cobra.Command{
		Use:   "bundle --file FILE REFERENCE...",
		Short: "Write images to a file for a machine without network",
		Long: `Write images to a file for a machine without network, where strata image load reads it. The command pulls the images that are
missing on this machine. The file is a tar archive of an OCI layout, which docker load and skopeo read, too.

` + imagesJSON,
		Example: "  strata image bundle --file images.tar docker.io/library/wordpress:6 registry.strata.local/team-web/app:v1",
		Args:    o.some,
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return o.Usage(errors.New("strata image bundle: name the file with --file"))
			}
			return o.run(c, "bundle "+file, func(ctx context.Context, _ *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				return d.Bundle(ctx, file, args...)
			})
		},
	}
	c = o.bind(command)
	command.Flags().StringVarP(&file, "file", "f", "", "file to write")
	complete.Flag(command, "file", complete.Files)
	command.ValidArgsFunction = o.references
	return command
}

func (o commands) load() *cobra.Command {
	var c *call
	command := &cobra.Command{
		Use:   "load FILE",
		Short: "Read the images of strata image bundle, under their own names",
		Long: `Read the images of strata image bundle, under their own names. All teams may use them, except those of the home's registry:
these belong to the namespaces in their names.

` + imagesJSON,
		Example: "  strata image load images.tar",
		Args:    o.Arguments(positional.One),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.add(c, "load "+args[0], func(ctx context.Context, _ *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				return d.Load(ctx, args[0])
			})
		},
	}
	c = o.bind(command)
	return command
}
