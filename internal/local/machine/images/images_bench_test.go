package images_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkImages pulls images whose layers compress to half their size, from a registry on this machine.
func BenchmarkImages(b *testing.B) {
	for _, c := range []struct {
		name      string
		megabytes int
		limit     time.Duration
	}{{"pull and unpack 100 MB", 100, 5 * time.Second}, {"pull and unpack 470 MB", 470, 20 * time.Second}} {
		b.Run(c.name, func(b *testing.B) {
			host := imagetest.Registry(b, nil)
			block := imagetest.Noise(1, 64<<10) + string(make([]byte, 64<<10))
			var layers []imagetest.Files
			for layer := range 4 {
				files := imagetest.Files{}
				for n := range c.megabytes * 8 / 4 {
					files[fmt.Sprintf("layer%d/%d/file%d", layer, n%100, n)] = block
				}
				layers = append(layers, files)
			}
			imagetest.Push(b, host+"/app", imagetest.Image(b, layers...))
			for b.Loop() {
				home, err := images.Open(b.TempDir(), images.Options{})
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if _, err := home.Pull(b.Context(), host+"/app", nil, nil); err != nil {
					b.Fatal(err)
				}
				figure.Seconds(b, c.name, time.Since(began), c.limit)
			}
		})
	}
}
