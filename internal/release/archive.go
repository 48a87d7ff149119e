package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// A member is a file of an archive.
type member struct {
	name string // in the archive
	path string // of the file
	mode int64
}

// writeArchive writes a tar archive, compressed by gzip. All members have the same time and no owner, so that the same files
// always give the same archive.
func writeArchive(to string, made time.Time, members []member) (err error) {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	compressed := gzip.NewWriter(file)
	archive := tar.NewWriter(compressed)
	for _, m := range members {
		if err := addMember(archive, made, m); err != nil {
			return fmt.Errorf("write %s: %w", to, err)
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func addMember(archive *tar.Writer, made time.Time, m member) error {
	file, err := os.Open(m.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: m.name, Size: info.Size(), Mode: m.mode, ModTime: made.UTC(), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// sums returns the checksums of all files in a folder, in the format of sha256sum.
func sums(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s  %s\n", hex.EncodeToString(hash.Sum(nil)), entry.Name())
	}
	return out.Bytes(), nil
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
