//go:build linux

package owners

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkVolume measures a volume with owners in the sandbox of an ordinary user, and the same volume without owners,
// which only the container's root can use.
func BenchmarkVolume(b *testing.B) {
	var user *syscall.Credential
	for _, found := range hosts(b) {
		if found != nil {
			user = found
		}
	}
	h := newHost(b, user)
	operations := []string{"many /data 1000", "stream /data/large 256"}
	volume := h.volume(b, "volume")
	for i, text := range h.run(b, volume, container{operations: operations}, container{operations: operations, plain: true}) {
		name, bounds := "volume with owners", []float64{4000, 2000}
		if i == 1 {
			name, bounds = "volume without owners", []float64{0, 0}
		}
		for j, line := range strings.Split(strings.TrimSpace(text), "\n") {
			_, took, _ := strings.Cut(line, ": ")
			milliseconds, err := strconv.ParseFloat(took, 64)
			if err != nil {
				b.Fatalf("%s: %v", line, err)
			}
			what := []string{": 1000 files made, changed and removed", ": 256 MB written and read"}[j]
			figure.AtMost(b, name+what, milliseconds, bounds[j], "ms")
		}
	}
}
