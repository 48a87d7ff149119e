// Command assemble assembles images of recipes from packages of Debian, and writes them as a bundle. With -lock it pins a recipe's
// packages to their current versions.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/images"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
)

const usage = `usage: go run ./images/assemble [-cloud-sql-proxy PROGRAM] FOLDER... FILE.tar
       go run ./images/assemble -lock FOLDER

FOLDER is a recipe, such as images/wordpress. FILE.tar becomes an archive of an OCI image layout, for strata image load.

`

func main() {
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage); flag.PrintDefaults() }
	lock := flag.Bool("lock", false, "pin the current versions of the recipe's packages, in the files ARCHITECTURE.lock of FOLDER")
	architectures := flag.String("architectures", "amd64,arm64", "the architectures that -lock pins")
	proxy := flag.String("cloud-sql-proxy", "", "add the image of this built Cloud SQL Auth Proxy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *lock && flag.NArg() == 1:
		err = pin(ctx, flag.Arg(0), strings.Split(*architectures, ","))
	case !*lock && flag.NArg() >= 2:
		contents := images.Contents{CloudSQLProxy: *proxy, Report: report}
		for _, folder := range flag.Args()[:flag.NArg()-1] {
			contents.Recipes = append(contents.Recipes, os.DirFS(folder))
		}
		err = images.Write(ctx, flag.Arg(flag.NArg()-1), contents)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}

func report(line string) { fmt.Fprintln(os.Stderr, line) }

// pin writes the locks of a recipe.
func pin(ctx context.Context, folder string, architectures []string) error {
	recipe, err := debian.Load(os.DirFS(folder))
	if err != nil {
		return err
	}
	builder, err := debian.NewBuilder(debian.Options{Report: report})
	if err != nil {
		return err
	}
	for _, architecture := range architectures {
		lock, err := builder.Lock(ctx, recipe, architecture)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, architecture+".lock"), []byte(lock.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
