// Command release builds the files of a release of Strata.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/strata-platform/strata/internal/release"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/internal/toolchain"
)

// keyVariable names the private key: a file, or the key itself.
const keyVariable = "STRATA_RELEASE_KEY"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(log)
	folder := flags.String("out", "dist", "write the files to this `folder`")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "build the command for these `platforms`")
	key := flags.String("key", os.Getenv(keyVariable), "sign with the private key in this `file`; by default, with the file or the key in "+keyVariable)
	flags.Lookup("key").DefValue = "" // The default may be the key itself, which no help may show.
	bundles := flags.String("bundles", "", "adopt the bundles of other platforms from this `folder`")
	modified := flags.Bool("modified", false, "allow changes that are not committed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := toolchain.FindRoot(".")
	if err != nil {
		return err
	}
	o := release.Options{Root: root, Out: *folder, Platforms: strings.Fields(*platforms), Bundles: *bundles, Modified: *modified, Log: out}
	if *key != "" {
		if o.Key, err = signing.ReadKey("the release key", *key); err != nil {
			return err
		}
	}
	return release.Build(ctx, o)
}
