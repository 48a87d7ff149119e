// Package assemble makes an image of one static program, for programs that Strata builds from pinned modules.
package assemble

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Program describes the program of an image.
type Program struct {
	// Path is the program on this machine: a static executable for Linux and this machine's architecture. The image reads
	// the file whenever somebody reads its layer. Required.
	Path string
	// Name is the program's name in the root folder of the image, where it is the entry point. Required.
	Name string
	// UID is the program's user and group. They have the name nonroot and the home folder /home/nonroot. Zero means root.
	UID int
	// Certificates are the authorities that the program trusts, in PEM form. Empty means none.
	Certificates []byte
	// Labels are the labels of the image.
	Labels map[string]string
}

// CloudSQLProxyRepository is the repository of the official images of the Cloud SQL Auth Proxy.
const CloudSQLProxyRepository = "gcr.io/cloud-sql-connectors/cloud-sql-proxy"

// CloudSQLProxy returns an image of the Cloud SQL Auth Proxy at path, with the entry point and the user of the official
// image. It also returns the references that pods use for a version such as v2.27.0: the version without the v, and its
// first one and two numbers. Source: Dockerfile in the module github.com/GoogleCloudPlatform/cloud-sql-proxy/v2.
func CloudSQLProxy(path, version string, certificates []byte) (image v1.Image, references []string, err error) {
	image, err = Image(Program{
		Path: path, Name: "cloud-sql-proxy", UID: 65532, Certificates: certificates,
		Labels: map[string]string{"org.opencontainers.image.version": version},
	})
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	for i := range numbers {
		references = append(references, CloudSQLProxyRepository+":"+strings.Join(numbers[:i+1], "."))
	}
	return image, references, err
}

// Image returns an image with one layer. The same program makes the same digest.
func Image(p Program) (v1.Image, error) {
	if p.Path == "" || p.Name == "" || strings.Contains(p.Name, "/") {
		return nil, fmt.Errorf("assemble an image of %q: the path and a name without folders are required", p.Path)
	}
	layer, err := tarball.LayerFromOpener(p.open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("assemble an image of %s: %w", p.Path, err)
	}
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("assemble an image of %s: %w", p.Path, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("assemble an image of %s: %w", p.Path, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		Entrypoint: []string{"/" + p.Name}, User: strconv.Itoa(p.UID), Labels: p.Labels, WorkingDir: "/",
		Env: []string{"PATH=/", "SSL_CERT_FILE=" + certificatesFile},
	}
	return mutate.ConfigFile(image, config)
}

// certificatesFile is the path of the trusted authorities in an image.
const certificatesFile = "/etc/ssl/certs/ca-certificates.crt"

// open returns the archive of the layer, uncompressed. The archive has no times, so that its digest depends only on the
// program.
func (p Program) open() (io.ReadCloser, error) {
	program, err := os.Open(p.Path)
	if err != nil {
		return nil, err
	}
	info, err := program.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a file")
	}
	if err != nil {
		program.Close()
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		defer program.Close()
		writer.CloseWithError(p.write(writer, program, info.Size()))
	}()
	return reader, nil
}

// write writes the only layer of the image. Its entries have no time, so that the same program always gives the same image.
func (p Program) write(to io.Writer, program io.Reader, size int64) error {
	archive := tar.NewWriter(to)
	add := func(kind byte, name string, mode int64, uid int, size int64, content io.Reader) error {
		header := &tar.Header{Typeflag: kind, Name: name, Mode: mode, Uid: uid, Gid: uid, Size: size, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.Copy(archive, content)
		return err
	}
	text := func(name, content string) error {
		return add(tar.TypeReg, name, 0o644, 0, int64(len(content)), strings.NewReader(content))
	}
	folder := func(name string, mode int64, uid int) error {
		return add(tar.TypeDir, name, mode, uid, 0, strings.NewReader(""))
	}
	user, group := "root:x:0:0:root:/root:/none\n", "root:x:0:\n"
	if p.UID != 0 {
		user += fmt.Sprintf("nonroot:x:%d:%[1]d:nonroot:/home/nonroot:/none\n", p.UID)
		group += fmt.Sprintf("nonroot:x:%d:\n", p.UID)
	}
	return errors.Join(
		folder("etc/", 0o755, 0), text("etc/passwd", user), text("etc/group", group),
		folder("etc/ssl/", 0o755, 0), folder("etc/ssl/certs/", 0o755, 0), text(certificatesFile[1:], string(p.Certificates)),
		folder("home/", 0o755, 0), folder("home/nonroot/", 0o700, p.UID), folder("tmp/", 0o1777, 0),
		add(tar.TypeReg, p.Name, 0o755, p.UID, size, program),
		archive.Close(),
	)
}
