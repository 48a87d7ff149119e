package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/imagecmd"
	"github.com/strata-platform/strata/internal/local"
)

func newImage(io streams) *cobra.Command {
	return imagecmd.New(imagecmd.Options{
		In: io.in, Out: io.out, Err: io.err, Print: printJSON, Group: group,
		Usage: func(err error) error { return usageError{err} },
		Bind: func(command *cobra.Command) imagecmd.Call {
			c := &imageCall{}
			c.output.bind(command)
			c.target.bindAny(command)
			return c
		},
	})
}

// imageCall are the flags that all commands about images share.
type imageCall struct {
	output output
	target target
}

// JSON reports whether the output is JSON.
func (c *imageCall) JSON() (bool, error) { return c.output.json() }

// errCloudRegistry is the error of the commands on the target gke.
var errCloudRegistry = errors.New("target gke: pods on Google Cloud pull from a registry of Google Cloud, not from this machine: " +
	"push with docker push REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME:TAG, and name that image in the Deployment")

// Open opens the local platform.
func (c *imageCall) Open() (*local.Platform, error) {
	if c.target.name == targetGKE {
		return nil, usageError{errCloudRegistry}
	}
	return c.target.openLocal()
}
