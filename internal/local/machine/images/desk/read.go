package desk

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// readStream reads an archive from a stream. The older format of docker save needs a file.
func (d *Desk) readStream(ctx context.Context, r io.Reader) ([]bundle.Content, error) {
	file, err := os.CreateTemp(d.images.Store().Partial(""), "push-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, r)
	if err := errors.Join(store.Explain("image", err), file.Close()); err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return d.readFile(ctx, file.Name())
}

// readFile reads an archive.
func (d *Desk) readFile(ctx context.Context, path string) ([]bundle.Content, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	found, err := bundle.Read(ctx, d.images.Store(), file, images.Compressed)
	if errors.Is(err, bundle.ErrDocker) {
		one, err := bundle.Docker(ctx, d.images.Store(), path)
		return []bundle.Content{one}, err
	}
	return found, err
}

// readFolder reads a folder with an OCI layout.
func (d *Desk) readFolder(ctx context.Context, dir string) ([]bundle.Content, error) {
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		archive := tar.NewWriter(w)
		err := archive.AddFS(os.DirFS(dir))
		w.CloseWithError(errors.Join(err, archive.Close()))
	}()
	return bundle.Read(ctx, d.images.Store(), r, images.Compressed)
}
