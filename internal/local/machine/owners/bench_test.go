//go:build linux

package owners

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkVolume measures a volume with owners in the sandbox of an ordinary user. For comparison it measures the same volume
// without owners, which only the container's root can use, and without owners and by upstream's directfs.
func BenchmarkVolume(b *testing.B) {
	var user *syscall.Credential
	for _, found := range hosts(b) {
		if found != nil {
			user = found
		}
	}
	h := newHost(b, user)
	volume := h.volume(b, "volume")
	c := container{operations: []string{"many /data 1000", "stream /data/large 256"}}
	measure := func(name string, many, stream float64) {
		for i, line := range strings.Split(strings.TrimSpace(h.run(b, volume, c)[0]), "\n") {
			_, took, _ := strings.Cut(line, ": ")
			milliseconds, err := strconv.ParseFloat(took, 64)
			if err != nil {
				b.Fatalf("%s: %v", line, err)
			}
			if i == 0 {
				figure.AtMost(b, name+": 1000 files made, changed and removed", milliseconds, many, "ms")
			} else {
				figure.AtMost(b, name+": 256 MB written and read", milliseconds, stream, "ms")
			}
		}
	}
	measure("volume with owners", 4000, 1000)
	c.plain = true
	measure("volume without owners", 0, 0)
	h.directfs = true
	measure("volume by directfs", 0, 0)
}
