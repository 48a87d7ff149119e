package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"

	"github.com/strata-platform/strata/internal/backup"
)

const version = "v0.2.0"

// newKey returns a key pair, which is faster than a passphrase.
func newKey(t testing.TB) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func anything(backup.Manifest) error { return nil }

func TestBackupIsRestoredAsItWas(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	large := bytes.Repeat([]byte("pack"), 1<<20)
	from := filepath.Join(dir, "large")
	if err := os.WriteFile(from, large, 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{
		"state/teams/team-web/.pulumi/stacks/shop/dev.json": []byte(`{"version":3}`),
		"credentials/passphrase":                            []byte("secret of the test"),
		"git/web.bundle":                                    large,
		"empty":                                             {},
	}
	files := []backup.File{{Path: "git/web.bundle", From: from}}
	for name, content := range want {
		if name != "git/web.bundle" {
			files = append(files, backup.File{Path: name, Content: content})
		}
	}
	path := filepath.Join(dir, "backup")
	written, err := backup.Write(t.Context(), path, backup.Manifest{Strata: version, Environment: "dev"}, files, key.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || bytes.Contains(raw, []byte("passphrase")) || bytes.Contains(raw, []byte("secret")) {
		t.Errorf("the file contains a name or a secret in plain text: %v", err)
	}
	to := t.TempDir()
	read, err := backup.Extract(t.Context(), path, version, []age.Identity{key}, to, anything)
	if err != nil || read.Environment != "dev" || !slices.Equal(read.Members, written.Members) {
		t.Errorf("%v, manifest %+v, want %+v", err, read, written)
	}
	found := 0
	err = filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		name, _ := filepath.Rel(to, path)
		if content, err := os.ReadFile(path); err != nil || !bytes.Equal(content, want[name]) {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
		if info, err := entry.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
		return nil
	})
	if err != nil || found != len(want) {
		t.Errorf("%d files, want %d: %v", found, len(want), err)
	}

	_, err = backup.Write(t.Context(), path, backup.Manifest{Strata: version}, files, key.Recipient())
	if err == nil || !strings.Contains(err.Error(), "a backup never replaces a file") {
		t.Errorf("a second backup of the same name: %v", err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the first backup has changed: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files: %q, %v", left, err)
	}
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, other := file("good", "correct horse battery staple\n"), file("other", "another horse battery staple\n")
	path := filepath.Join(dir, "backup")
	recipients, err := backup.Keys{PassphraseFile: good}.ForWriting()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Write(t.Context(), path, backup.Manifest{Strata: version}, nil, recipients...); err != nil {
		t.Fatal(err)
	}
	open := func(keys backup.Keys) error {
		identities, err := keys.ForReading()
		if err == nil {
			_, err = backup.Extract(t.Context(), path, version, identities, t.TempDir(), anything)
		}
		return err
	}
	if err := open(backup.Keys{PassphraseFile: good}); err != nil {
		t.Error(err)
	}
	if err := open(backup.Keys{PassphraseFile: other}); err == nil || !strings.Contains(err.Error(), "this key does not open it") {
		t.Errorf("another passphrase: %v", err)
	}
	private := newKey(t)
	if err := open(backup.Keys{IdentityFile: file("identity", private.String())}); err == nil || !strings.Contains(err.Error(), "this key does not open it") {
		t.Errorf("a private key: %v", err)
	}
	for name, tc := range map[string]struct {
		err  func() error
		want string
	}{
		"a short passphrase":      {func() error { _, err := backup.Keys{PassphraseFile: file("short", "horse")}.ForWriting(); return err }, "fewer than 16"},
		"two passphrases":         {func() error { _, err := backup.Keys{PassphraseFile: file("two", "a\nb\n")}.ForWriting(); return err }, "several lines"},
		"a private key published": {func() error { _, err := backup.Keys{Recipients: []string{private.String()}}.ForWriting(); return err }, "recipient 1"},
		"an identity of text":     {func() error { return open(backup.Keys{IdentityFile: good}) }, "no private keys"},
		"a missing passphrase":    {func() error { return open(backup.Keys{PassphraseFile: filepath.Join(dir, "none")}) }, "no such file"},
	} {
		err := tc.err()
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), private.String()) || strings.Contains(err.Error(), "horse") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// entry is an entry of a forged archive.
type entry struct {
	tar.Header
	content string
}

// forge writes an archive of any content.
func forge(t *testing.T, key *age.X25519Identity, manifest any, trailer string, entries ...entry) []byte {
	t.Helper()
	raw, ok := manifest.(string)
	if !ok {
		marshalled, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(marshalled)
	}
	var out bytes.Buffer
	encrypted, err := age.Encrypt(&out, key.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	compressed := gzip.NewWriter(encrypted)
	archive := tar.NewWriter(compressed)
	for _, e := range append([]entry{{tar.Header{Typeflag: tar.TypeReg, Name: "manifest.json"}, raw}}, entries...) {
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.content))
		}
		if err := archive.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(encrypted, trailer); err != nil {
		t.Fatal(err)
	}
	if err := encrypted.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func member(path, content string) backup.Member {
	sum := sha256.Sum256([]byte(content))
	return backup.Member{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

func file(name, content string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name}, content}
}

func link(kind byte, name, target string) entry {
	return entry{tar.Header{Typeflag: kind, Name: name, Linkname: target}, ""}
}

func TestForgedBackupsWriteNothingOutside(t *testing.T) {
	key := newKey(t)
	of := func(members ...backup.Member) backup.Manifest {
		return backup.Manifest{Format: backup.Format, Strata: version, Members: members}
	}
	huge := member("huge", "x")
	huge.Size = backup.MaxTotal + 1
	half := member("half", "x")
	half.Size = backup.MaxTotal/2 + 1
	second := half
	second.Path = "second"
	many := make([]backup.Member, backup.MaxMembers+1)
	for i := range many {
		many[i] = member("many", "x")
	}
	a := member("a", "x")
	for name, tc := range map[string]struct {
		manifest any
		entries  []entry
		trailer  string
		want     string
	}{
		"a newer format":                {backup.Manifest{Format: backup.Format + 1, Strata: "v0.9.0"}, nil, "", `strata "v0.9.0" has written it (format 2)`},
		"a newer format of other form":  {`{"format": 2, "strata": "v0.9.0", "members": "elsewhere"}`, nil, "", `use strata "v0.9.0" or newer`},
		"a newer strata":                {backup.Manifest{Format: backup.Format, Strata: "v0.2.1"}, nil, "", `use strata "v0.2.1" or newer`},
		"a manifest of something else":  {`{"kind": "List"}`, nil, "", "no manifest of a backup"},
		"a manifest of text":            {"hello", nil, "", "no manifest of a backup"},
		"an unknown field":              {`{"format": 1, "strata": "v0.1.0", "run": "me"}`, nil, "", "unknown field"},
		"text after the manifest":       {`{"format": 1, "strata": "v0.1.0"} {}`, nil, "", "no manifest of a backup"},
		"a path that climbs":            {of(member("../outside", "x")), []entry{file("../outside", "x")}, "", "a path that no backup has"},
		"a path that climbs later":      {of(member("a/../../outside", "x")), []entry{file("a/../../outside", "x")}, "", "a path that no backup has"},
		"an absolute path":              {of(member("/outside", "x")), []entry{file("/outside", "x")}, "", "a path that no backup has"},
		"an empty path":                 {of(member("", "x")), nil, "", "a path that no backup has"},
		"a path with a control":         {of(member("a\x1b[2Jb", "x")), nil, "", "a path that no backup has"},
		"a path of two lines":           {of(member("a\nb", "x")), nil, "", "a path that no backup has"},
		"a backslash":                   {of(member(`a\b`, "x")), nil, "", "a path that no backup has"},
		"a long path":                   {of(member(strings.Repeat("a/", 600)+"a", "x")), nil, "", "a path that no backup has"},
		"a member twice":                {of(a, a), []entry{file("a", "x"), file("a", "x")}, "", "at or below another member"},
		"a file as a folder":            {of(a, member("a/b", "x")), []entry{file("a", "x"), file("a/b", "x")}, "", "at or below another member"},
		"a folder as a file":            {of(member("a/b", "x"), a), []entry{file("a/b", "x"), file("a", "x")}, "", "exists"},
		"a huge member":                 {of(huge), []entry{file("huge", "x")}, "", "and the limit is"},
		"huge members together":         {of(half, second), []entry{file("half", "x")}, "", "have more than"},
		"too many members":              {of(many...), nil, "", "members, and the limit is"},
		"a negative size":               {of(backup.Member{Path: "a", Size: -1}), nil, "", "and the limit is"},
		"another size":                  {of(a), []entry{file("a", "xx")}, "", `is not the member "a"`},
		"another content":               {of(a), []entry{file("a", "y")}, "", "does not match its checksum"},
		"another name":                  {of(a), []entry{file("../outside", "x")}, "", `its entry "../outside" is not the member "a"`},
		"another order":                 {of(a, member("b", "y")), []entry{file("b", "y"), file("a", "x")}, "", "is not the member"},
		"a missing member":              {of(a), nil, "", "damaged or truncated"},
		"one more entry":                {of(a), []entry{file("a", "x"), file("b", "x")}, "", "damaged or truncated"},
		"a symbolic link":               {of(a), []entry{link(tar.TypeSymlink, "a", "/etc/passwd")}, "", "is not the member"},
		"a hard link":                   {of(a), []entry{link(tar.TypeLink, "a", "manifest.json")}, "", "is not the member"},
		"a link of no size to a folder": {of(member("a", ""), member("a2", "x")), []entry{link(tar.TypeSymlink, "a", ".."), file("a2", "x")}, "", "is not the member"},
		"a device":                      {of(member("a", "")), []entry{link(tar.TypeBlock, "a", "")}, "", "is not the member"},
		"a pipe":                        {of(member("a", "")), []entry{link(tar.TypeFifo, "a", "")}, "", "is not the member"},
		"a folder":                      {of(member("a", "")), []entry{link(tar.TypeDir, "a", "")}, "", "is not the member"},
		"text after the archive":        {of(a), []entry{file("a", "x")}, strings.Repeat("x", 17<<20), "damaged or truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, key, forge(t, key, tc.manifest, tc.trailer, tc.entries...), tc.want)
		})
	}
}

// refuses checks that Extract refuses a file with one line, and writes nothing beside its folder.
func refuses(t *testing.T, key *age.X25519Identity, content []byte, want string) {
	t.Helper()
	dir := t.TempDir()
	path, to := filepath.Join(dir, "backup"), filepath.Join(dir, "below", "to")
	if err := errors.Join(os.WriteFile(path, content, 0o600), os.MkdirAll(to, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err := backup.Extract(t.Context(), path, version, []age.Identity{key}, to, anything)
	if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("error %q, want one line with %q", err, want)
	}
	for folder, names := range map[string][]string{dir: {"backup", "below"}, filepath.Dir(to): {"to"}} {
		entries, err := os.ReadDir(folder)
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("%s has %q, want %q: %v", folder, got, names, err)
		}
	}
}

func TestDamagedBackupsAreRefused(t *testing.T) {
	key, dir := newKey(t), t.TempDir()
	path := filepath.Join(dir, "backup")
	content := make([]byte, 200_000) // several of age's chunks
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	if _, err := backup.Write(t.Context(), path, backup.Manifest{Strata: version}, []backup.File{{Path: "a", Content: content}}, key.Recipient()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += 1 + len(whole)/60 {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		refuses(t, key, flipped, "read the backup")
		refuses(t, key, whole[:i], "read the backup")
	}
	refuses(t, key, whole[:len(whole)-1], "damaged or truncated")
	refuses(t, key, append(bytes.Clone(whole), 'x'), "damaged or truncated")
	refuses(t, newKey(t), whole, "this key does not open it")
	refuses(t, key, []byte("-----BEGIN CERTIFICATE-----\n"), "no backup of strata")
	var other bytes.Buffer
	encrypted, err := age.Encrypt(&other, key.Recipient())
	if err == nil {
		_, err = io.WriteString(encrypted, "a text for the owner of the key")
	}
	if err := errors.Join(err, encrypted.Close()); err != nil {
		t.Fatal(err)
	}
	refuses(t, key, other.Bytes(), "it contains something else")
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "not a regular file", dir: "not a regular file", os.DevNull: "not a regular file", filepath.Join(dir, "none"): "no such file"} {
		if _, err := backup.Extract(t.Context(), path, version, []age.Identity{key}, t.TempDir(), anything); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNothingIsWrittenUnlessTheManifestIsAccepted(t *testing.T) {
	key, dir, to := newKey(t), t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "backup")
	if _, err := backup.Write(t.Context(), path, backup.Manifest{Strata: version}, []backup.File{{Path: "a"}}, key.Recipient()); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("not this one")
	if _, err := backup.Extract(t.Context(), path, version, []age.Identity{key}, to, func(backup.Manifest) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func FuzzExtract(f *testing.F) {
	key := newKey(f)
	f.Add([]byte(`{"format":1,"strata":"v0.1.0","members":[{"path":"a","size":1,"sha256":""}]}`), "a", byte(tar.TypeReg))
	f.Add([]byte(`{"format":1,"strata":"v0.1.0","members":[{"path":"../a","size":0}]}`), "../a", byte(tar.TypeSymlink))
	f.Fuzz(func(t *testing.T, manifest []byte, name string, kind byte) {
		header := tar.Header{Typeflag: kind, Name: name, Linkname: "/etc"}
		if tar.NewWriter(io.Discard).WriteHeader(&header) != nil || strings.ContainsRune(name, 0) {
			t.Skip()
		}
		dir := t.TempDir()
		path, to := filepath.Join(dir, "backup"), filepath.Join(dir, "to")
		content := forge(t, key, string(manifest), "", entry{header, ""})
		if err := errors.Join(os.WriteFile(path, content, 0o600), os.Mkdir(to, 0o700)); err != nil {
			t.Fatal(err)
		}
		_, _ = backup.Extract(t.Context(), path, version, []age.Identity{key}, to, anything)
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}
