package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"filippo.io/age"
)

// errDamaged is the error of a backup whose bytes are not those that were written.
var errDamaged = errors.New("it is damaged or truncated: use another backup")

// Extract writes the members of a backup to an empty folder, as files of mode 0600 in folders of mode 0700. It calls accept with
// the manifest before it writes anything. version is the version of this strata. After an error the folder may contain some
// of the members.
func Extract(ctx context.Context, file, version string, identities []age.Identity, to string, accept func(Manifest) error) (Manifest, error) {
	manifest, err := extract(ctx, file, version, identities, to, accept)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("read the backup %s: %w", file, err)
	}
	return manifest, err
}

func extract(ctx context.Context, file, version string, identities []age.Identity, to string, accept func(Manifest) error) (Manifest, error) {
	// The name may be that of a pipe or a device.
	info, err := os.Stat(file)
	if err != nil {
		return Manifest{}, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return Manifest{}, errors.New("it is not a regular file")
	}
	in, err := os.Open(file)
	if err != nil {
		return Manifest{}, errors.Unwrap(err)
	}
	defer in.Close()
	plain, err := decrypt(bufio.NewReader(reader{ctx, in}), identities)
	if err != nil {
		return Manifest{}, err
	}
	compressed, err := gzip.NewReader(plain)
	if err != nil {
		return Manifest{}, foreign(err)
	}
	compressed.Multistream(false)
	archive := tar.NewReader(compressed)
	manifest, err := readManifest(archive, version)
	if err != nil {
		return manifest, err
	}
	if err := accept(manifest); err != nil {
		return manifest, err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return manifest, err
	}
	defer root.Close()
	for _, member := range manifest.Members {
		if err := extractMember(archive, root, member); err != nil {
			return manifest, err
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return manifest, errDamaged
	}
	// Only the end of the encrypted data proves that nothing was cut off.
	for _, rest := range []io.Reader{compressed, plain} {
		if n, err := io.Copy(io.Discard, io.LimitReader(rest, maxManifest)); err != nil || n == maxManifest {
			return manifest, errDamaged
		}
	}
	return manifest, nil
}

// decrypt returns the decrypted content.
func decrypt(in io.Reader, identities []age.Identity) (io.Reader, error) {
	plain, err := age.Decrypt(in, identities...)
	if none := (*age.NoIdentityMatchError)(nil); errors.As(err, &none) {
		return nil, errors.New("this key does not open it: name the identity or the passphrase of the backup")
	}
	if err != nil {
		return nil, errors.New("it is no backup of strata, or its beginning is damaged")
	}
	return plain, nil
}

// foreign returns the error for decrypted content that is no archive.
func foreign(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, tar.ErrHeader) || errors.Is(err, io.EOF) {
		return errors.New("it is no backup of strata: it contains something else")
	}
	return errDamaged
}

// readManifest reads the first entry of the archive.
func readManifest(archive *tar.Reader, version string) (Manifest, error) {
	header, err := archive.Next()
	if err != nil {
		return Manifest{}, foreign(err)
	}
	if header.Name != manifestName || header.Typeflag != tar.TypeReg || header.Size > maxManifest {
		return Manifest{}, foreign(tar.ErrHeader)
	}
	raw, err := io.ReadAll(archive)
	if err != nil {
		return Manifest{}, errDamaged
	}
	return decode(raw, version)
}

// extractMember writes the next entry of the archive, which has to be the member.
func extractMember(archive *tar.Reader, root *os.Root, member Member) error {
	header, err := archive.Next()
	if err != nil {
		return errDamaged
	}
	if header.Name != member.Path || header.Typeflag != tar.TypeReg || header.Size != member.Size {
		return fmt.Errorf("its entry %s is not the member %s of its manifest", printable(header.Name), printable(member.Path))
	}
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(member.Path)), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(filepath.FromSlash(member.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	written := &sink{out: out}
	if _, err := io.Copy(io.MultiWriter(sum, written), archive); err != nil {
		if written.err != nil {
			return written.err
		}
		return errDamaged
	}
	if hex.EncodeToString(sum.Sum(nil)) != member.SHA256 {
		return fmt.Errorf("the member %s does not match its checksum: use another backup", printable(member.Path))
	}
	return errors.Join(out.Sync(), out.Close())
}

// sink remembers the error of a write, which says something about this machine and not about the backup.
type sink struct {
	out io.Writer
	err error
}

func (s *sink) Write(b []byte) (n int, err error) {
	n, err = s.out.Write(b)
	s.err = err
	return n, err
}
