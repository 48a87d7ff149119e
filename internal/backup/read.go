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
	return Visit(ctx, file, version, identities, accept, func(member Member, content io.Reader) error { return writeMember(to, member, content) })
}

// Visit calls accept with the manifest of a backup, and then visit with the content of each member, in the order of the manifest.
// The contents count only if Visit returns no error. version is the version of this strata.
func Visit(
	ctx context.Context, file, version string, identities []age.Identity, accept func(Manifest) error, visit func(Member, io.Reader) error,
) (Manifest, error) {
	manifest, err := read(ctx, file, version, identities, accept, visit)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("read the backup %s: %w", file, err)
	}
	return manifest, err
}

func read(
	ctx context.Context, file, version string, identities []age.Identity, accept func(Manifest) error, visit func(Member, io.Reader) error,
) (Manifest, error) {
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
	for _, member := range manifest.Members {
		if err := visitMember(archive, member, visit); err != nil {
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

// visitMember calls visit with the next entry of the archive, which has to be the member.
func visitMember(archive *tar.Reader, member Member, visit func(Member, io.Reader) error) error {
	header, err := archive.Next()
	if err != nil {
		return errDamaged
	}
	if header.Name != member.Path || header.Typeflag != tar.TypeReg || header.Size != member.Size {
		return fmt.Errorf("its entry %s is not the member %s of its manifest", printable(header.Name), printable(member.Path))
	}
	sum := sha256.New()
	content := io.TeeReader(entry{archive}, sum)
	if err := visit(member, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != member.SHA256 {
		return fmt.Errorf("the member %s does not match its checksum: use another backup", printable(member.Path))
	}
	return nil
}

// writeMember writes a member below a folder.
func writeMember(to string, member Member, content io.Reader) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(member.Path)), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(filepath.FromSlash(member.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, content); err != nil {
		return err
	}
	return errors.Join(out.Sync(), out.Close())
}

// entry is the content of an entry. Its errors differ from those of a write, which say something about this machine and not about the
// backup.
type entry struct{ in io.Reader }

func (e entry) Read(b []byte) (int, error) {
	n, err := e.in.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errDamaged
	}
	return n, err
}
