package pause_test

import (
	"runtime"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/pause"
)

func TestImagesExistForTheArchitecturesOfGVisor(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64", runtime.GOARCH} {
		image, err := pause.Image(arch)
		if err != nil || len(image) != 3*4096 {
			t.Errorf("%s: %d bytes, %v", arch, len(image), err)
		}
	}
	if _, err := pause.Image("mips"); err == nil {
		t.Error("mips has an image")
	}
}
