package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/tree"
)

// Image assembles the image of a recipe for this machine's architecture, or takes it from the cache. The image refers to a file of
// the cache.
func (b *Builder) Image(ctx context.Context, r *Recipe) (v1.Image, error) {
	var image v1.Image
	err := b.build(ctx, r, func(p plan) error {
		path := filepath.Join(b.cache, "layers", p.name())
		l, err := open(path)
		if errors.Is(err, fs.ErrNotExist) {
			if err = b.writeLayer(ctx, p, path); err == nil {
				l, err = open(path)
			}
		}
		if err != nil {
			return err
		}
		image, err = p.image(l)
		return err
	})
	return image, err
}

// image returns the image with a layer.
func (p plan) image(l v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(image, mutate.Addendum{Layer: l, History: v1.History{
		Created: v1.Time{Time: p.lock.Date}, CreatedBy: fmt.Sprintf("Debian %s, %d packages", p.lock.Suite, len(p.lock.Packages))}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", runtime.GOARCH, v1.Time{Time: p.lock.Date}
	c := p.Config
	file.Config = v1.Config{Entrypoint: c.Entrypoint, Cmd: c.Cmd, WorkingDir: c.WorkingDir, User: c.User, StopSignal: c.StopSignal}
	for name, value := range c.Env {
		file.Config.Env = append(file.Config.Env, name+"="+value)
	}
	slices.Sort(file.Config.Env)
	for _, port := range c.Ports {
		if file.Config.ExposedPorts == nil {
			file.Config.ExposedPorts = map[string]struct{}{}
		}
		file.Config.ExposedPorts[fmt.Sprintf("%d/tcp", port)] = struct{}{}
	}
	for _, volume := range c.Volumes {
		if file.Config.Volumes == nil {
			file.Config.Volumes = map[string]struct{}{}
		}
		file.Config.Volumes[volume] = struct{}{}
	}
	return mutate.ConfigFile(image, file)
}

// layer is a compressed layer in the cache. Its file has the layer's digest, so that nothing has to read the content first.
type layer struct {
	path string
	Sum  v1.Hash `json:"digest"`
	Diff v1.Hash `json:"diffID"`
	Len  int64   `json:"size"`
}

// Digest and the other methods implement partial.CompressedLayer and its optional interfaces.
func (l *layer) Digest() (v1.Hash, error) { return l.Sum, nil }

// DiffID returns the digest of the decompressed layer.
func (l *layer) DiffID() (v1.Hash, error) { return l.Diff, nil }

// Compressed opens the layer.
func (l *layer) Compressed() (io.ReadCloser, error) { return os.Open(filepath.Join(l.path, "layer")) }

// Size returns the size of the compressed layer in bytes.
func (l *layer) Size() (int64, error) { return l.Len, nil }

// MediaType returns the type of layers that gzip compressed.
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// open opens a layer of the cache.
func open(path string) (v1.Layer, error) {
	content, err := os.ReadFile(filepath.Join(path, "about.json"))
	if err != nil {
		return nil, err
	}
	l := &layer{path: path}
	if err := json.Unmarshal(content, l); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return partial.CompressedToLayer(l)
}

// writeLayer assembles a plan, and stores the layer in the cache.
func (b *Builder) writeLayer(ctx context.Context, p plan, path string) error {
	t, err := b.assemble(ctx, p)
	if err != nil {
		return err
	}
	defer t.Close()
	b.report("compress the layer")
	return b.store(path, func(dir string) error {
		l, err := compress(t, filepath.Join(dir, "layer"))
		if err != nil {
			return err
		}
		content, err := json.Marshal(l)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "about.json"), content, 0o644)
	})
}

// store fills a new folder, and then gives it its name. If another process was faster, its folder stays.
func (b *Builder) store(path string, fill func(dir string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.cache, "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := fill(dir); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := os.Rename(dir, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// counter counts bytes.
type counter struct{ n int64 }

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// compress writes a tree as a layer.
func compress(t *tree.Tree, path string) (*layer, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	compressed, plain, size := sha256.New(), sha256.New(), &counter{}
	z, err := gzip.NewWriterLevel(io.MultiWriter(file, compressed, size), gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := t.WriteTar(io.MultiWriter(z, plain)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	digest := func(sum []byte) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum)} }
	return &layer{Sum: digest(compressed.Sum(nil)), Diff: digest(plain.Sum(nil)), Len: size.n}, file.Close()
}

// Folder writes the files of a recipe into a folder of the cache, or finds them there, and returns its path. All files belong to
// the user. A process that has the folder as its root sees the image's files.
func (b *Builder) Folder(ctx context.Context, r *Recipe) (string, error) {
	var path string
	err := b.build(ctx, r, func(p plan) error {
		path = filepath.Join(b.cache, "folders", p.name())
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		t, err := b.assemble(ctx, p)
		if err != nil {
			return err
		}
		defer t.Close()
		return b.store(path, func(dir string) error {
			if err := os.Remove(dir); err != nil { // WriteFolder creates it.
				return err
			}
			return t.WriteFolder(dir)
		})
	})
	return path, err
}
