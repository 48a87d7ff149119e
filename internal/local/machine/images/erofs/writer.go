package erofs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// blockSize is the size of a block in bytes: that of a page, since gVisor and the kernel map blocks as pages.
const blockSize = 4096

// File is the image's file: an *os.File, opened for reading and writing, and empty.
type File interface {
	io.Writer
	io.WriterAt
	io.ReaderAt
}

// Writer writes one image: first the data of files in any order, then all metadata. Until Close returns, no program accepts
// the file as an image, because the superblock is written last.
type Writer struct {
	file File
	out  *bufio.Writer
	// next is the block that the next data begins on.
	next uint64
}

// NewWriter returns a writer of an image to file.
func NewWriter(file File) (*Writer, error) {
	w := &Writer{file: file, out: bufio.NewWriterSize(file, 1<<20), next: 1}
	_, err := w.out.Write(make([]byte, blockSize))
	return w, err
}

// Write copies size bytes from r into the image and returns their place. It fails if r ends early.
func (w *Writer) Write(r io.Reader, size int64) (Data, error) {
	if size == 0 {
		return Data{}, nil
	}
	blocks := uint64(size+blockSize-1) / blockSize
	if w.next+blocks > math.MaxUint32 {
		return Data{}, errors.New("the image has more blocks than EROFS can address")
	}
	data := Data{Size: size, block: uint32(w.next)}
	if _, err := io.CopyN(w.out, r, size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Data{}, err
	}
	w.next += blocks
	return data, w.pad(size)
}

// Read returns the content of a file that Write has written.
func (w *Writer) Read(data Data) ([]byte, error) {
	if err := w.out.Flush(); err != nil {
		return nil, err
	}
	content := make([]byte, data.Size)
	if data.Size == 0 {
		return content, nil
	}
	if _, err := w.file.ReadAt(content, int64(data.block)*blockSize); err != nil {
		return nil, fmt.Errorf("read back the image: %w", err)
	}
	return content, nil
}

// pad fills the block that ends after written bytes with zeros.
func (w *Writer) pad(written int64) error {
	if rest := written % blockSize; rest != 0 {
		_, err := w.out.Write(make([]byte, blockSize-rest))
		return err
	}
	return nil
}

// Close writes the tree below root and then the superblock. It does not close the file. The label identifies the image: its
// first 16 bytes are the UUID of the file system.
func (w *Writer) Close(root *Node, label []byte) error {
	nodes := number(root)
	if err := w.place(nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if n.plan.inline || n.Mode&TypeMask == Regular || n.plan.size == 0 {
			continue
		}
		if _, err := w.out.Write(content(n)); err != nil {
			return err
		}
		if err := w.pad(n.plan.size); err != nil {
			return err
		}
	}
	meta := w.next
	end, err := w.inodes(nodes)
	if err != nil {
		return err
	}
	if err := w.pad(end); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	blocks := meta + uint64(end+blockSize-1)/blockSize
	if blocks > math.MaxUint32 {
		return errors.New("the image has more blocks than EROFS can address")
	}
	_, err = w.file.WriteAt(superblock(root, len(nodes), uint32(meta), uint32(blocks), label), 0)
	return err
}
