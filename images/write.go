package images

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/assemble"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Contents are the images of a bundle.
type Contents struct {
	// Recipes are folders of recipes with references.
	Recipes []fs.FS
	// CloudSQLProxy is the path of the Cloud SQL Auth Proxy, built by its module. Empty leaves its image out.
	CloudSQLProxy string
	// Report gets lines about long steps.
	Report func(line string)
}

// Write assembles images, and writes them to a file as `strata image load` reads it: an archive of an OCI image layout.
func Write(ctx context.Context, path string, c Contents) error {
	dir, err := os.MkdirTemp("", "assemble-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	var references []string
	put := func(image v1.Image, names ...string) error {
		for _, name := range names {
			if err := bundle.Put(ctx, s, name, image); err != nil {
				return err
			}
		}
		references = append(references, names...)
		return nil
	}
	if len(c.Recipes) > 0 {
		builder, err := debian.NewBuilder(debian.Options{Report: c.Report})
		if err != nil {
			return err
		}
		for _, folder := range c.Recipes {
			recipe, err := debian.Load(folder)
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
			if err := put(image, recipe.Reference); err != nil {
				return err
			}
		}
	}
	if c.CloudSQLProxy != "" {
		built, err := buildinfo.ReadFile(c.CloudSQLProxy)
		if err != nil {
			return fmt.Errorf("read the version of the Cloud SQL Proxy: %w", err)
		}
		image, names, err := assemble.CloudSQLProxy(c.CloudSQLProxy, built.Main.Version, nil)
		if err != nil {
			return err
		}
		if err := put(image, names...); err != nil {
			return err
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := bundle.Export(ctx, s, file, references...); err != nil {
		return err
	}
	return file.Close()
}
