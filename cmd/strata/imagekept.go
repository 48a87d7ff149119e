package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/images/desk"
)

func newImageList(io streams) *cobra.Command {
	var c imageCall
	command := &cobra.Command{
		Use:   "list",
		Short: "Show the images of this machine, their sizes, and who may use them",
		Long:  "Show the images of this machine, their sizes, and who may use them.\n\n" + imagesJSON,
		Example: `  strata image list
  strata image list -o json`,
		Args: arguments(noArguments),
		RunE: func(*cobra.Command, []string) error {
			return c.run(io, "", func(_ *local.Platform, d *desk.Desk) ([]desk.Image, error) { return d.List() })
		},
	}
	c.bind(command)
	return command
}

// someArguments accepts at least one argument.
func someArguments(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return fmt.Errorf("%s: give at least one reference, such as registry.strata.local/team-web/app:v1", command.CommandPath())
}

func newImageRemove(io streams) *cobra.Command {
	var c imageCall
	command := &cobra.Command{
		Use:   "remove REFERENCE...",
		Short: "Remove images from this machine; running pods keep theirs",
		Long: `Remove images from this machine; running pods keep theirs. The command prints the images that are left. The disk space of an
image that was pushed or pulled within the last hour becomes free later.

` + imagesJSON,
		Example: "  strata image remove registry.strata.local/team-web/app:v1",
		Args:    arguments(someArguments),
		RunE: func(command *cobra.Command, args []string) error {
			return c.run(io, "remove", func(_ *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				if _, err := d.Remove(command.Context(), args...); err != nil {
					return nil, err
				}
				return d.List()
			})
		},
	}
	c.bind(command)
	return command
}

func newImageBundle(io streams) *cobra.Command {
	var c imageCall
	var file string
	command := &cobra.Command{
		Use:   "bundle --file FILE REFERENCE...",
		Short: "Write images to a file for a machine without network",
		Long: `Write images to a file for a machine without network, where strata image load reads it. The command pulls the images that this
machine lacks. The file is a tar archive of an OCI layout, which docker load and skopeo read, too.

` + imagesJSON,
		Example: "  strata image bundle --file images.tar docker.io/library/wordpress:6 registry.strata.local/team-web/app:v1",
		Args:    arguments(someArguments),
		RunE: func(command *cobra.Command, args []string) error {
			if file == "" {
				return usageError{errors.New("strata image bundle: name the file with --file")}
			}
			return c.run(io, "bundle "+file, func(_ *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				return d.Bundle(command.Context(), file, args...)
			})
		},
	}
	c.bind(command)
	command.Flags().StringVarP(&file, "file", "f", "", "file to write")
	return command
}

func newImageLoad(io streams) *cobra.Command {
	var c imageCall
	command := &cobra.Command{
		Use:   "load FILE",
		Short: "Read the images of strata image bundle, under their own names",
		Long: `Read the images of strata image bundle, under their own names. All teams may use them, except those of the home's registry:
these belong to the namespaces in their names.

` + imagesJSON,
		Example: "  strata image load images.tar",
		Args:    arguments(oneArgument),
		RunE: func(command *cobra.Command, args []string) error {
			return c.run(io, "load "+args[0], func(_ *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				return d.Load(command.Context(), args[0])
			})
		},
	}
	c.bind(command)
	return command
}
