// Package deb reads packages of Debian: the files that a package installs, and its control file.
package deb

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	// zstdMemory and xzMemory bound the dictionaries of compressed members in bytes: dpkg-deb writes at most 64 MiB.
	zstdMemory, xzMemory = 128 << 20, 128 << 20
	// largestControl bounds the control file in bytes.
	largestControl = 1 << 20
)

// Read reads the package in a file. It returns the text of the control file, and calls visit for each entry of the data
// archive, in the order of the archive. The reader of an entry is valid during the call. Read runs no maintainer script, and
// does not check the entries' names.
func Read(file string, visit func(*tar.Header, io.Reader) error) (control string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fail := func(err error) error { return fmt.Errorf("read package %s: %w", path.Base(file), err) }
	members, err := newArchive(f)
	if err != nil {
		return "", fail(err)
	}
	var hasData bool
	for {
		name, content, err := members.next()
		switch {
		case errors.Is(err, io.EOF):
			if control == "" || !hasData {
				return "", fail(errors.New("it has no control file or no data"))
			}
			return control, nil
		case err != nil:
			return "", fail(err)
		case strings.HasPrefix(name, "control.tar"):
			err = each(content, func(header *tar.Header, r io.Reader) error {
				if path.Clean(header.Name) != "control" {
					return nil
				}
				text, err := io.ReadAll(io.LimitReader(r, largestControl))
				control = string(text)
				return err
			})
		case strings.HasPrefix(name, "data.tar"):
			hasData = true
			err = each(content, visit)
		}
		if err != nil {
			return "", fail(fmt.Errorf("member %s: %w", name, err))
		}
	}
}

// each calls visit for each entry of a compressed tar archive.
func each(content io.Reader, visit func(*tar.Header, io.Reader) error) error {
	plain, closePlain, err := Decompress(content)
	if err != nil {
		return err
	}
	defer closePlain()
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(header, archive); err != nil {
			return err
		}
	}
}

// Decompress returns the content of a stream that is compressed by xz, zstd or gzip, or not at all. It detects the format by
// the first bytes. The caller must call the returned function.
func Decompress(r io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReaderSize(r, 1<<18)
	start, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case strings.HasPrefix(string(start), "\xfd7zXZ\x00"):
		plain, err := xz.ReaderConfig{DictCap: xzMemory}.NewReader(buffered)
		return plain, func() {}, err
	case strings.HasPrefix(string(start), "\x28\xb5\x2f\xfd"):
		plain, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(zstdMemory))
		if err != nil {
			return nil, nil, err
		}
		return plain, plain.Close, nil
	case strings.HasPrefix(string(start), "\x1f\x8b"):
		plain, err := gzip.NewReader(buffered)
		return plain, func() {}, err
	}
	return buffered, func() {}, nil
}
