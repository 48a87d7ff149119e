package runtime

import (
	"os"
	"testing"
)

func TestAHugeFileOfAContainerIsReplacedAndNotRead(t *testing.T) {
	dir := t.TempDir()
	const text = "127.0.0.1\tlocalhost\n"
	file, err := KeepFile(dir, "hosts", text)
	if err != nil {
		t.Fatal(err)
	}
	// The file is sparse: it needs no space on the disk, and more memory than a machine has.
	if err := os.Truncate(file, 1<<42); err != nil {
		t.Skipf("the file system has no large files: %v", err)
	}
	if _, err := KeepFile(dir, "hosts", text); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() != int64(len(text)) || info.Mode().Perm() != 0o644 {
		t.Errorf("the file is %v, %v", info, err)
	}
}
