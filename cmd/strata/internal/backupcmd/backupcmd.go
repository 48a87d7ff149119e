// Package backupcmd contains the commands `strata backup` and `strata restore`.
package backupcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/progress"
)

// errElsewhere is the error of restore for the target gke.
var errElsewhere = errors.New("target gke: nothing to lay out: the states are in buckets, which outlive the cluster, and `strata up --target gke` creates the rest again; " +
	"see \"A lost cluster on Google Cloud\" in docs/platform-team.md")

// files completes the names of files.
var files = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// New returns the command backup.
func New(o cli.Options) *cobra.Command {
	var keys backup.Keys
	var w cli.Work
	var call cli.Call
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write what nothing can create again of a platform to an encrypted file",
		Long: `Write what nothing can create again of a platform to a new, encrypted file that only you can read:

  1. the states of both layers and of the teams' Stacks
  2. the Git repositories, with all branches, tags and notes
  3. the passphrase of the states, the passwords, the keys that sign artifacts, the cluster's certificate authority
  4. the Secrets that people have created in the teams' namespaces, if the cluster runs
  5. the ports, the environment and the operator of the home

The platform may run, and Stacks may run meanwhile; while a layer runs, the command fails. The file contains no data of the emulated Google
Cloud, such as databases and buckets, which outlives the home, no images and no persistent volumes.

With --target gke, the file contains the states and the settings of both layers, the states of the Stacks from the teams' buckets, the
repositories as their hosts have them, and the Secrets of people. strata rehearse reads it.

A passphrase has 16 characters or more, in the first line of its file. A recipient is a public key of age, which begins with age1: only
its private key opens the backup.`,
		Example: `  # with a passphrase of your own
  strata backup /mnt/backups/platform.age --passphrase-file ~/.config/strata-backup

  # for a key of age, whose private part is elsewhere
  strata backup /mnt/backups/platform.age --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p

  # a platform on Google Cloud, for a rehearsal
  strata backup /mnt/backups/platform.age --target gke --passphrase-file ~/.config/strata-backup`,
		Args:              o.Arguments(positional.One),
		ValidArgsFunction: files,
		RunE: func(command *cobra.Command, args []string) error {
			if keys.PassphraseFile == "" == (len(keys.Recipients) == 0) {
				return o.Usage(errors.New("give either --passphrase-file or --recipient: a backup contains secrets, so it is always encrypted"))
			}
			p, err := call.Platform()
			if err != nil {
				return err
			}
			source, ok := p.Target.(content.Source)
			if !ok {
				return errors.New("back up the platform: its target has no backup")
			}
			return w.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
				began := time.Now()
				saved, err := source.Backup(ctx, show, args[0], keys)
				if err != nil {
					return err
				}
				show.Total("backup", time.Since(began))
				return call.Print(o.Out, saved, func() error {
					_, err := fmt.Fprintln(o.Out, saved.File)
					return err
				})
			})
		},
	}
	call = o.Bind(command)
	w.BindTimeout(command)
	command.Flags().StringVar(&keys.PassphraseFile, "passphrase-file", "", "file with the passphrase that encrypts the backup")
	command.Flags().StringArrayVar(&keys.Recipients, "recipient", nil, "public key of age that encrypts the backup; you can repeat the flag")
	_ = command.RegisterFlagCompletionFunc("recipient", cobra.NoFileCompletions)
	_ = command.RegisterFlagCompletionFunc("passphrase-file", files)
	return command
}

// Restore returns the command restore.
func Restore(o cli.Options) *cobra.Command {
	var keys backup.Keys
	var cloud string
	var w cli.Work
	var call cli.Call
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Lay out a new home for the platform on this machine from a backup",
		Long: `Lay out a new home for the platform on this machine from a file of strata backup:

  1. decrypt the backup, and check it completely
  2. create the home in a folder beside its place, with the states, the repositories and the keys
  3. move the emulated Google Cloud, the folder google of the former home, into the new home, and the home to its place

The home must not exist, or be an empty folder. If a step fails, nothing has changed. Then strata up creates the objects of the cluster
again: layer 2 and Flux apply what the states and the repositories contain. It neither creates nor replaces a resource of the
emulated Google Cloud.

Restore only a backup that you or your colleagues have written: whoever knows a recipient of a backup can write one.`,
		Example: `  # the home is lost, and the emulated Google Cloud is in /srv/cloud
  strata restore /mnt/backups/platform.age --cloud /srv/cloud --passphrase-file ~/.config/strata-backup
  strata up

  # with a private key of age
  strata restore /mnt/backups/platform.age --cloud /srv/cloud --identity ~/.config/age/key.txt`,
		Args:              o.Arguments(positional.One),
		ValidArgsFunction: files,
		RunE: func(command *cobra.Command, args []string) error {
			switch {
			case keys.PassphraseFile == "" == (keys.IdentityFile == ""):
				return o.Usage(errors.New("give either --passphrase-file or --identity"))
			case cloud == "":
				return o.Usage(errors.New("--cloud is missing: name the folder google of the former home, with the databases: a backup does not contain them"))
			}
			p, err := call.Open(errElsewhere)
			if err != nil {
				return err
			}
			return w.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
				restored, err := p.Restore(ctx, show, args[0], cloud, keys)
				if err != nil {
					return err
				}
				return call.Print(o.Out, restored, func() error { return next(o, p, restored) })
			})
		},
	}
	call = o.Bind(command)
	w.BindTimeout(command)
	command.Flags().StringVar(&cloud, "cloud", "", "folder of the emulated Google Cloud: google of the former home; the command moves it")
	command.Flags().StringVar(&keys.PassphraseFile, "passphrase-file", "", "file with the passphrase of the backup")
	command.Flags().StringVar(&keys.IdentityFile, "identity", "", "file with the private key of age that opens the backup")
	_ = command.RegisterFlagCompletionFunc("cloud", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	_ = command.RegisterFlagCompletionFunc("passphrase-file", files)
	_ = command.RegisterFlagCompletionFunc("identity", files)
	return command
}

// next prints the next command.
func next(o cli.Options, p *local.Platform, restored local.Restored) error {
	if restored.Former != "" {
		fmt.Fprintf(o.Err, "the former home was %q: clones of its repositories and kubeconfigs of teams that name it need the new path\n", restored.Former)
	}
	_, err := fmt.Fprintf(o.Out, "restored %s: run `%s` to create the cluster's objects again\n", restored.Home, p.Home.Call("up"))
	return err
}
