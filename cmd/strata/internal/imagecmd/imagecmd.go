// Package imagecmd contains the commands of `strata image`.
package imagecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/desk"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/teams"
)

// commands are the commands of the group.
type commands struct{ cli.Options }

// errCloudRegistry is the error of the commands on the target gke.
var errCloudRegistry = errors.New("target gke: pods on Google Cloud pull from a registry of Google Cloud, not from this machine: " +
	"push with docker push REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME:TAG, and name that image in the Deployment")

// call are the flags of one call of a command.
type call struct {
	cli.Call
	command *cobra.Command
	limit   cli.Work
}

// bind adds the flags of every command of the group.
func (o commands) bind(command *cobra.Command) *call {
	c := &call{Call: o.Bind(command), command: command}
	c.limit.BindTimeout(command)
	return c
}

// work is what a command does with the images of a home. It returns the images to print.
type work func(context.Context, *local.Platform, *desk.Desk) ([]desk.Image, error)

// Result is the output of the commands with -o json.
type Result struct {
	Images []desk.Image `json:"images"`
}

// New returns the command with its subcommands.
func New(options cli.Options) *cobra.Command {
	o := commands{options}
	return o.Group(&cobra.Command{
		Use:   "image",
		Short: "Push, pull, list and remove the images of pods on this machine",
		Long: `Push, pull, list and remove the images of pods on this machine. The commands work with and without a running platform; push, pull
and load create a missing home, so that images are there before the first strata up.

A Deployment names an image of the home's registry registry.strata.local/NAMESPACE/NAME:TAG; the name is the same on every
machine. Only pods of the namespace can use the image, or all pods if NAMESPACE is "shared". Clients such as docker and crane push to the
port "registry" of strata local status, as engineer or as a team, with the passwords of the Git server.

On Google Cloud, push to a registry that the cluster can reach, such as Artifact Registry.`,
		Example: `  docker save app:v1 | strata image push - --team web
  strata image list`,
	}, o.push(), o.pull(), o.list(), o.remove(), o.bundle(), o.load())
}

// add is like run, and creates a missing home first: images may be there before the first `strata up`.
func (o commands) add(c *call, step string, do work) error {
	p, err := c.Open(errCloudRegistry)
	if err != nil {
		return err
	}
	if err := p.CreateHome(); err != nil {
		return err
	}
	return o.with(p, c, step, do)
}

// run opens the images of the home, calls do, and prints the images that do returns. It shows the progress of a step that is
// not empty.
func (o commands) run(c *call, step string, do work) error {
	p, err := c.Open(errCloudRegistry)
	if err != nil {
		return err
	}
	if !p.Home.Exists() {
		return fmt.Errorf("there is no home %s yet: run `%s` first", p.Home.Dir(), p.Home.Call("up"))
	}
	return o.with(p, c, step, do)
}

// with calls do, shows its progress as a step unless step is empty, and prints the images that it returns.
func (o commands) with(p *local.Platform, c *call, step string, do work) error {
	var found []desk.Image
	err := c.limit.Run(c.command, o.Err, func(ctx context.Context, show *progress.Reporter) (err error) {
		found, err = imagesOf(ctx, p, show, step, do)
		return err
	})
	if err != nil {
		return err
	}
	return c.Print(o.Out, Result{found}, func() error { return render.Images(o.Out, found) })
}

// imagesOf opens the images of the home and calls do, as a step unless its name is empty.
func imagesOf(ctx context.Context, p *local.Platform, show *progress.Reporter, step string, do work) (found []desk.Image, err error) {
	d, err := desk.Open(p.Home.Images(), func(e pull.Event) {
		const megabyte = 1 << 20
		if e.Total > 0 {
			show.Detail("%s: %d of %d MB", e.Step, e.Done/megabyte, (e.Total+megabyte-1)/megabyte)
		}
	})
	if err != nil {
		return nil, err
	}
	if step == "" {
		return do(ctx, p, d)
	}
	err = show.Run(step, func() (string, error) {
		found, err = do(ctx, p, d)
		return "", err
	})
	return found, err
}

// namespace returns the namespace of a team of teams.yaml, or other if the name is empty.
func (o commands) namespace(p *local.Platform, team, other string) (string, error) {
	if team == "" {
		return other, nil
	}
	list, err := p.Teams()
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(list, func(t teams.Team) bool { return t.Name == team }) {
		return "", o.Usage(fmt.Errorf("team %q is not in teams.yaml: add it with `%s`", team, p.Home.Call("team add "+team)))
	}
	return teams.Team{Name: team}.Namespace(), nil
}

// imagesJSON documents the output of -o json.
const imagesJSON = `-o json prints {"images": [{"reference", "digest", "bytes", "namespaces", "kept", "used"}]}: the sizes on the disk, the namespaces
whose pods may use the image (["*"] for all), whether only strata image remove removes it, and the time of its last use.`

func (o commands) push() *cobra.Command {
	var c *call
	var team string
	command := &cobra.Command{
		Use:   "push SOURCE [NAME]",
		Short: "Copy an image into the home's registry, and print its name for Deployments",
		Long: `Copy an image into the home's registry, and print its name for Deployments. SOURCE is

  a file          of docker save, podman save, or an OCI layout as a tar archive; - reads it from standard input
  a folder        with an OCI layout
  a reference     in another registry, which is pulled with your docker login

NAME is the repository and tag, such as app:v1; by default, that of the source. With --team only the pods of this team use the
image, otherwise those of all teams. The command unpacks the image, and rejects one that does not run on this machine.

` + imagesJSON,
		Example: `  docker save app:v1 | strata image push - --team web
  strata image push app.tar app:v2 --team web
  strata image push ghcr.io/example/tool:1.0`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return o.Usage(fmt.Errorf("%s: give a file, a folder or a reference, and optionally a name", command.CommandPath()))
		},
		RunE: func(_ *cobra.Command, args []string) error {
			as := ""
			if len(args) == 2 {
				as = args[1]
			}
			return o.add(c, "push "+args[0], func(ctx context.Context, p *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				namespace, err := o.namespace(p, team, images.Shared)
				if err != nil {
					return nil, err
				}
				return d.Push(ctx, args[0], o.In, namespace, as)
			})
		},
	}
	c = o.bind(command)
	complete.Team(command, &team, "team whose pods may use the image; by default, all teams", o.Local)
	return command
}

func (o commands) pull() *cobra.Command {
	var c *call
	var team string
	command := &cobra.Command{
		Use:   "pull REFERENCE",
		Short: "Pull an image with your docker login, for the pods of one team or of all teams",
		Long: `Pull an image with your docker login, for the pods of one team or of all teams. Pods themselves pull only with their
imagePullSecrets, because your login may read images that a team must not see: this command gives them this one image.

` + imagesJSON,
		Example: `  strata image pull ghcr.io/example/private:1.0 --team web
  strata image pull docker.io/library/wordpress:6`,
		Args: o.Arguments(positional.One),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.add(c, "pull "+args[0], func(ctx context.Context, p *local.Platform, d *desk.Desk) ([]desk.Image, error) {
				namespace, err := o.namespace(p, team, "")
				if err != nil {
					return nil, err
				}
				var namespaces []string
				if namespace != "" {
					namespaces = []string{namespace}
				}
				pulled, err := d.Pull(ctx, args[0], namespaces...)
				return []desk.Image{pulled}, err
			})
		},
	}
	c = o.bind(command)
	complete.Team(command, &team, "team whose pods may use the image; by default, all teams", o.Local)
	return command
}
