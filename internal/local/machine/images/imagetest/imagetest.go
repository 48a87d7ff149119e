// Package imagetest builds images for tests, and serves them from an in-process registry.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Files are the files of a layer: the content by name.
type Files map[string]string

// Layer returns a layer compressed by gzip.
func Layer(t testing.TB, files Files) v1.Layer {
	t.Helper()
	var compressed bytes.Buffer
	z, err := gzip.NewWriterLevel(&compressed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(compressed.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// Image returns an image for this machine with a layer for each argument.
func Image(t testing.TB, layers ...Files) v1.Image {
	t.Helper()
	var appended []v1.Layer
	for _, files := range layers {
		appended = append(appended, Layer(t, files))
	}
	image, err := mutate.AppendLayers(empty.Image, appended...)
	if err != nil {
		t.Fatal(err)
	}
	return For(t, image, runtime.GOARCH)
}

// For returns the image with another architecture and a command.
func For(t testing.TB, image v1.Image, architecture string) v1.Image {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	config.Config.Entrypoint, config.Config.User = []string{"/init"}, "www"
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// Noise returns n bytes that compression does not shrink, the same for the same seed.
func Noise(seed uint64, n int) string {
	source := rand.New(rand.NewPCG(seed, seed))
	var b strings.Builder
	for range n {
		b.WriteByte(byte(source.Uint32()))
	}
	return b.String()
}

// Registry starts a registry and returns its address. The middleware, which may be nil, sees each request first.
func Registry(t testing.TB, middleware func(http.Handler) http.Handler) string {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if middleware != nil {
		handler = middleware(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Push pushes an image and returns its digest.
func Push(t testing.TB, reference string, image v1.Image, options ...remote.Option) v1.Hash {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(parsed, image, options...); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}
