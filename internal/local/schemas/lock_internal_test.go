package schemas

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCallsWaitForEachOther takes the lock of a folder, as a call that stores schemas does, and once more.
func TestCallsWaitForEachOther(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "schemas")
	release, err := lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a held lock returns %v", err)
	}
	second := make(chan error)
	go func() {
		release, err := lock(folder)
		if err == nil {
			release()
		}
		second <- err
	}()
	release()
	if err := <-second; err != nil {
		t.Errorf("the second call: %v", err)
	}
}
