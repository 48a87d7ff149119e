package pull_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
)

// childSpace is the variable with the options of the file system that the child mounts on its folder.
const childSpace = "STRATA_TEST_SPACE"

func init() { //nolint:gochecknoinits // TestMain is in a file for all systems
	prepare = func(dir string) error {
		options := os.Getenv(childSpace)
		if options == "" {
			return nil
		}
		return syscall.Mount("tmpfs", dir, "tmpfs", 0, options)
	}
}

// TestAFullDiskIsAnErrorAndLeavesNothing fills a real file system: a child mounts a small tmpfs in namespaces of its own.
func TestAFullDiskIsAnErrorAndLeavesNothing(t *testing.T) {
	host := imagetest.Registry(t, nil)
	// Zeros: the layer is small, and the image is large.
	imagetest.Push(t, host+"/unpacks", imagetest.Image(t, imagetest.Files{"a": strings.Repeat("\x00", 8<<20)}))
	imagetest.Push(t, host+"/downloads", imagetest.Image(t, imagetest.Files{"a": imagetest.Noise(1, 4<<20)}))
	for name, want := range map[string]string{"/unpacks": "it needs 1 MB on the disk", "/downloads": "it needs 4 MB on the disk"} {
		t.Run(name, func(t *testing.T) {
			c := start(t.TempDir(), host+name, 0)
			c.Env = append(c.Env, childSpace+"=size=2m")
			c.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			output, err := c.CombinedOutput()
			if len(output) == 0 && err != nil {
				t.Skipf("this machine allows no user namespaces: %v", err)
			}
			if text := string(output); !strings.Contains(text, "NoSpace image "+host+name+":latest: ") || !strings.Contains(text, want) || !strings.Contains(text, "left: [] ") {
				t.Errorf("the child prints %q (%v)", text, err)
			}
		})
	}
}
