package pull

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
)

// unpack creates the EROFS file of an image whose layers are in the store. If another process does so, it waits.
func (j *job) unpack(ctx context.Context, manifest *v1.Manifest, config *v1.ConfigFile) error {
	digest := manifest.Config.Digest
	file, err := j.Store.Take(ctx, digest.Hex+".image")
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			// The name first: a process that waits for the file then creates a new one.
			os.Remove(file.Name())
			file.Close()
		}
	}()
	if _, err := os.Stat(j.Store.Image(digest)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	var total int64
	for _, layer := range manifest.Layers {
		total += layer.Size
	}
	if err := j.Store.Space(j.object(), total); err != nil {
		return err
	}
	j.report(func(e *Event) { e.Step, e.Done, e.Total = Unpacking, 0, total })
	contents, err := j.convert(ctx, file, manifest, config)
	if err != nil {
		return j.describe(err)
	}
	done = true
	return j.Store.CommitImage(file, digest, contents)
}

// convert writes the layers into the file as an EROFS image.
func (j *job) convert(ctx context.Context, file *os.File, manifest *v1.Manifest, config *v1.ConfigFile) (unpack.Contents, error) {
	writer, err := erofs.NewWriter(struct {
		io.Writer
		io.WriterAt
		io.ReaderAt
	}{j.Store.Writer(j.object(), file), file, file})
	if err != nil {
		return unpack.Contents{}, err
	}
	image := unpack.New(writer, j.Unpacked)
	for n, layer := range manifest.Layers {
		if err := j.layer(ctx, image, layer, config.RootFS.DiffIDs[n]); err != nil {
			return unpack.Contents{}, err
		}
	}
	label, err := hex.DecodeString(manifest.Config.Digest.Hex)
	if err != nil {
		return unpack.Contents{}, err
	}
	image.AddMountPoints()
	return image.Close(label)
}

// layer adds one layer to the image.
func (j *job) layer(ctx context.Context, image *unpack.Image, layer v1.Descriptor, diffID v1.Hash) error {
	blob, err := j.Store.Blob(layer.Digest)
	if err != nil {
		return err
	}
	defer blob.Close()
	counted := &counter{Reader: blob, count: func(n int64) { j.report(func(e *Event) { e.Done += n }) }}
	return image.Layer(ctx, counted, diffID.String())
}

// counter counts the bytes of a reader.
type counter struct {
	io.Reader
	count func(int64)
}

// Read reads and counts.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.count(int64(n))
	return n, err
}

// describe adds the image's name to an error of package unpack, and the kind to an error of a full disk.
func (j *job) describe(err error) error {
	err = store.Explain(j.object(), err)
	if found, ok := errors.AsType[*fault.Error](err); ok && found.Object != j.object() {
		return &fault.Error{Kind: found.Kind, Object: j.object(), Why: "it cannot be unpacked", Cause: err}
	}
	return err
}

// corrupt returns an error of kind Corrupt about the image.
func (j *job) corrupt(why string, cause error) error {
	return &fault.Error{Kind: fault.Corrupt, Object: j.object(), Why: why, Cause: cause}
}

// otherPlatform returns the error for an image without a variant for this machine.
func (j *job) otherPlatform(have []string) error {
	want := "linux/" + runtime.GOARCH
	err := fault.New(fault.Platform, j.object(), "it has no variant for %s, only for %s", want, list(have))
	err.Want, err.Have, err.Next = want, have, "build it for "+want
	return err
}

// list returns the platforms for display. They come from a registry, so that list quotes and bounds them.
func list(platforms []string) string {
	text := ""
	for i, platform := range platforms {
		const most = 20
		if i == most {
			return text + ", ..."
		}
		if i > 0 {
			text += ", "
		}
		quoted := strconv.Quote(platform)
		text += quoted[1 : len(quoted)-1]
	}
	if text == "" {
		return "none"
	}
	return text
}

// quoted returns a name from outside for display on one line.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = name[:most] + "..."
	}
	return strconv.Quote(name)
}
