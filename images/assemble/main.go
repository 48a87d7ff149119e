// Command assemble assembles the image of a recipe from packages of Debian, and writes it as a bundle. With -lock it pins the
// recipe's packages to their current versions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

const usage = `usage: go run ./images/assemble FOLDER FILE.tar
       go run ./images/assemble -lock FOLDER

FOLDER is a recipe, such as images/wordpress. FILE.tar becomes an archive of an OCI image layout.

`

func main() {
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage); flag.PrintDefaults() }
	lock := flag.Bool("lock", false, "pin the current versions of the recipe's packages, in the files ARCHITECTURE.lock of FOLDER")
	architectures := flag.String("architectures", "amd64,arm64", "the architectures that -lock pins")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *lock && flag.NArg() == 1:
		err = pin(ctx, flag.Arg(0), strings.Split(*architectures, ","))
	case !*lock && flag.NArg() == 2:
		err = write(ctx, flag.Arg(0), flag.Arg(1))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}

// load reads a recipe, and returns a builder that reports to stderr.
func load(folder string) (*debian.Recipe, *debian.Builder, error) {
	recipe, err := debian.Load(os.DirFS(folder))
	if err != nil {
		return nil, nil, err
	}
	builder, err := debian.NewBuilder(debian.Options{Report: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	return recipe, builder, err
}

// pin writes the locks of a recipe.
func pin(ctx context.Context, folder string, architectures []string) error {
	recipe, builder, err := load(folder)
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

// write writes the bundle with the image of a recipe.
func write(ctx context.Context, folder, path string) error {
	recipe, builder, err := load(folder)
	if err != nil {
		return err
	}
	if recipe.Reference == "" {
		return errors.New("the recipe has no reference: a bundle needs the name of the image")
	}
	image, err := builder.Image(ctx, recipe)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assemble-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	if err := bundle.Put(ctx, s, recipe.Reference, image); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := bundle.Export(ctx, s, file, recipe.Reference); err != nil {
		return err
	}
	return file.Close()
}
