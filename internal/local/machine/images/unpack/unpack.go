// Package unpack turns the layers of an image into the tree of an EROFS image, without trusting them: nothing outside the
// image is read or written, and limits bound its size.
//
// The rules are those of the OCI image specification (layer.md) and of containerd: a later layer replaces files, ".wh.NAME"
// deletes NAME of earlier layers, ".wh..wh..opq" deletes all entries of earlier layers in its folder. Names are relative to
// the image's root, with or without a leading slash. Symbolic links in the parents of a name are followed inside the image.
package unpack

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// Limits bound one image. Zero means no limit.
type Limits struct {
	// Bytes bounds the layers after decompression, in bytes: their tar streams, and the files in them.
	Bytes int64
	// Entries bounds the entries of all layers.
	Entries int
}

// Contents describes an unpacked image.
type Contents struct {
	// Entries counts the entries of all layers, and Bytes their length after decompression.
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// Devices counts the device nodes. The image does not contain them: a sandbox has a /dev of its own.
	Devices int `json:"devices,omitempty"`
	// Capabilities are the file capabilities by the path of the file: the values of security.capability, which EROFS images
	// for gVisor cannot contain. Attributes counts the other extended attributes, which are dropped.
	Capabilities map[string][]byte `json:"capabilities,omitempty"`
	Attributes   int               `json:"attributes,omitempty"`
	// Passwd and Group are /etc/passwd and /etc/group. A missing file, or one of more than a megabyte, is nil.
	Passwd []byte `json:"passwd,omitempty"`
	Group  []byte `json:"group,omitempty"`
}

// Image is an image that is being unpacked. It is not safe for concurrent use.
type Image struct {
	writer   *erofs.Writer
	limits   Limits
	root     *erofs.Node
	contents Contents
	// data counts the bytes of files. Sparse files have more of them than their layers.
	data int64
	// capabilities are those of nodes that may still be replaced.
	capabilities map[*erofs.Node][]byte
	// written holds the names that the current layer has written, with their parents.
	written map[name]bool
}

// name is an entry of a folder.
type name struct {
	folder *erofs.Node
	base   string
}

// New returns an image without layers whose data goes to w.
func New(w *erofs.Writer, limits Limits) *Image {
	root := erofs.NewDirectory(0o755)
	// A fixed time, so that the same layers result in the same image.
	root.Modified = time.Unix(0, 0)
	return &Image{writer: w, limits: limits, root: root, capabilities: map[*erofs.Node][]byte{}}
}

// Layer adds a layer on top of the others. It reads the stream to its end: plain tar, or compressed by gzip or zstd. The
// digest of the decompressed stream must be diffID, such as "sha256:..."; an empty diffID is not checked. After an error the
// image is unusable. Errors have the kinds Corrupt and TooLarge, or are those of the stream, the image's file and ctx.
func (i *Image) Layer(ctx context.Context, compressed io.Reader, diffID string) error {
	stream, err := open(ctx, compressed, i.remaining())
	if err != nil {
		return err
	}
	defer stream.Close()
	i.written = map[name]bool{}
	archive := tar.NewReader(stream)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return explain(err)
		}
		if err := i.add(header, archive); err != nil {
			return explain(err)
		}
	}
	// The digest covers the padding after the end of the archive, too.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return explain(err)
	}
	i.contents.Bytes += stream.count
	if got := stream.digest(); diffID != "" && got != diffID {
		return fault.New(fault.Corrupt, "layer", "its decompressed content has the digest %s, and the image's configuration wants %s", got, diffID)
	}
	return nil
}

// remaining returns the number of bytes that the next layer may have.
func (i *Image) remaining() int64 {
	if i.limits.Bytes == 0 {
		return 0
	}
	return max(i.limits.Bytes-i.contents.Bytes, 1)
}

// Close writes the metadata, and returns a description of the image. The label identifies the image.
func (i *Image) Close(label []byte) (Contents, error) {
	i.contents.Passwd = i.read("etc/passwd")
	i.contents.Group = i.read("etc/group")
	i.contents.Capabilities = map[string][]byte{}
	i.collect(i.root, "")
	return i.contents, i.writer.Close(i.root, label)
}

// collect finds the file capabilities in the final tree.
func (i *Image) collect(folder *erofs.Node, path string) {
	for _, base := range slices.Sorted(maps.Keys(folder.Children)) {
		child := folder.Children[base]
		if value, found := i.capabilities[child]; found {
			i.contents.Capabilities[path+"/"+base] = value
		}
		i.collect(child, path+"/"+base)
	}
}

// read returns the content of a small file in the tree, or nil.
func (i *Image) read(path string) []byte {
	const most = 1 << 20
	node, err := i.find(path)
	if err != nil || node.Mode&erofs.TypeMask != erofs.Regular || node.Data.Size > most {
		return nil
	}
	content, err := i.writer.Read(node.Data)
	if err != nil {
		return nil
	}
	return content
}

// find returns the node at a path, and follows symbolic links inside the image.
func (i *Image) find(path string) (*erofs.Node, error) {
	found, rest, err := i.walk(i.root, split(path), new(int), false)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fs.ErrNotExist
	}
	return found[len(found)-1], nil
}
