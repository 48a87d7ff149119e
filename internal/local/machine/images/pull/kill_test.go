package pull_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	reader "github.com/erofs/go-erofs"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// The environment of a child process that pulls an image: the store's folder, the reference, and the number of the progress
// event at which the child kills itself, or 0. Before, it calls prepare.
const childDir, childReference, childEvent = "STRATA_TEST_STORE", "STRATA_TEST_REFERENCE", "STRATA_TEST_EVENT"

// prepare makes the child's folder special, on systems that can.
var prepare = func(string) error { return nil }

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println(fault.Of(err), err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child pulls the image.
func child(dir string) error {
	if err := prepare(dir); err != nil {
		return err
	}
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	s.Reserve = 0
	last, err := strconv.Atoi(os.Getenv(childEvent))
	if err != nil {
		return err
	}
	events := 0
	_, err = pull.Puller{Store: s}.Pull(context.Background(), os.Getenv(childReference), nil, func(pull.Event) {
		if events++; events == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	if err != nil {
		found, globErr := filepath.Glob(s.Partial("*"))
		fmt.Println("left:", found, globErr)
	}
	return err
}

// start returns the command of a child.
func start(dir, reference string, event int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childDir+"="+dir, childReference+"="+reference, childEvent+"="+strconv.Itoa(event))
	return c
}

func TestAKillAtAnyMomentLeavesNothingHalf(t *testing.T) {
	host := imagetest.Registry(t, nil)
	reference := host + "/app:1"
	imagetest.Push(t, reference, imagetest.Image(t, imagetest.Files{"a": imagetest.Noise(1, 300_000)}, imagetest.Files{"b": imagetest.Noise(2, 300_000)}))
	dir := t.TempDir()
	kills := 0
	for event := 1; ; event++ {
		err := start(dir, reference, event).Run()
		intact(t, dir)
		if err == nil {
			break
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatal(err)
		}
		kills++
	}
	if kills < 3 {
		t.Errorf("only %d kills: the test proves nothing", kills)
	}
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := pull.Puller{Store: s}
	pulled, err := p.Get(t.Context(), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	if content(t, p, pulled, "a") != imagetest.Noise(1, 300_000) || content(t, p, pulled, "b") != imagetest.Noise(2, 300_000) {
		t.Error("the files differ")
	}
	if _, err := s.Collect(t.Context(), nil, 0); err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(s.Partial("*")); err != nil || len(found) > 0 {
		t.Errorf("after Collect there are %v (%v)", found, err)
	}
}

// intact checks that every blob has its digest, that every EROFS file is complete, and that references have their images.
func intact(t *testing.T, dir string) {
	t.Helper()
	each := func(folder string, check func(path string, file *os.File)) {
		paths, err := filepath.Glob(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			check(path, file)
			file.Close()
		}
	}
	each("blobs/sha256/[0-9a-f]*", func(path string, file *os.File) {
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil || hex.EncodeToString(hash.Sum(nil)) != filepath.Base(path) {
			t.Errorf("the blob %s is damaged (%v)", path, err)
		}
	})
	each("erofs/*.erofs", func(path string, file *os.File) {
		if _, err := reader.Open(file); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	})
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	references, err := s.References()
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range references {
		if _, err := (pull.Puller{Store: s}).Get(t.Context(), reference.Name, nil); err != nil {
			t.Error(err)
		}
	}
}
