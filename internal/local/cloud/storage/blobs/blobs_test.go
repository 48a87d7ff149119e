package blobs_test

import (
	"crypto/md5"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/strata-platform/strata/internal/local/cloud/storage/blobs"
)

func open(t *testing.T, dir string) *blobs.Store {
	t.Helper()
	store, err := blobs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func read(t *testing.T, store *blobs.Store, id string) string {
	t.Helper()
	file, err := store.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func files(t *testing.T, dir string) int {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestPutReturnsChecksums(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	blob, err := store.Put(strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	want := blobs.Blob{ID: blob.ID, Size: 5, CRC32C: crc32.Checksum([]byte("hello"), crc32.MakeTable(crc32.Castagnoli)), MD5: md5.Sum([]byte("hello"))}
	if blob != want {
		t.Errorf("blob is %+v, want %+v", blob, want)
	}
	if got := read(t, open(t, dir), blob.ID); got != "hello" {
		t.Errorf("read %q", got)
	}
}

func TestIncompleteContentIsRemoved(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	if _, err := store.Put(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone")))); err == nil {
		t.Error("Put kept incomplete content")
	}
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files remain", n)
	}
}

func TestAppendRemovesUnacknowledgedBytes(t *testing.T) {
	store := open(t, t.TempDir())
	id, err := store.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Append(id, 0, strings.NewReader("hello, WORLD")); err != nil {
		t.Fatal(err)
	}
	size, err := store.Append(id, 7, strings.NewReader("you"))
	if err != nil || size != 10 {
		t.Fatalf("size is %d, %v", size, err)
	}
	blob, err := store.Finish(id)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, store, blob.ID); got != "hello, you" {
		t.Errorf("read %q", got)
	}
}

func TestLinkedBlobsAreIndependent(t *testing.T) {
	store := open(t, t.TempDir())
	blob, err := store.Put(strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := store.Link(blob.ID)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call finds no blob and succeeds
		if err := store.Remove(blob.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Open(blob.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open a removed blob: %v", err)
	}
	if got := read(t, store, again); got != "hello" {
		t.Errorf("the linked blob contains %q", got)
	}
}

func TestSweepKeepsBlobsInUse(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	kept, err := store.Put(strings.NewReader("kept"))
	if err != nil {
		t.Fatal(err)
	}
	begun, err := store.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(strings.NewReader("orphan")); err != nil {
		t.Fatal(err)
	}
	if err := store.Sweep(map[string]bool{kept.ID: true, begun: true}); err != nil {
		t.Fatal(err)
	}
	if n := files(t, dir); n != 2 {
		t.Errorf("%d files remain, want 2", n)
	}
	if _, err := store.Append(begun, 0, strings.NewReader("x")); err != nil {
		t.Errorf("the unfinished blob in use is missing: %v", err)
	}
}
