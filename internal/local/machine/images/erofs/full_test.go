package erofs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	reader "github.com/erofs/go-erofs"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
)

// full is a file on a disk that becomes full.
type full struct {
	file *os.File
	left int
}

func (f *full) ReadAt(p []byte, at int64) (int, error)  { return f.file.ReadAt(p, at) }
func (f *full) WriteAt(p []byte, at int64) (int, error) { return f.file.WriteAt(p, at) }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.file.Write(p)
}

func TestAFullDiskLeavesNoSuperblock(t *testing.T) {
	for _, left := range []int{0, 1 << 20, 3 << 20} {
		file, err := os.OpenFile(filepath.Join(t.TempDir(), "image"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		w, err := erofs.NewWriter(&full{file, left})
		if err != nil {
			t.Fatal(err)
		}
		root := erofs.NewDirectory(0o755)
		data, err := w.Write(io.LimitReader(zeros{}, 3<<20), 3<<20)
		if err == nil {
			root.Children["file"] = &erofs.Node{Mode: erofs.Regular, Data: data}
			err = w.Close(root, nil)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with %d bytes left the error is %v", left, err)
		}
		if _, err := reader.Open(file); err == nil {
			t.Errorf("with %d bytes left the file is an image", left)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
