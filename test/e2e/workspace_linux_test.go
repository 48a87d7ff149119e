package e2e

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/internal/local/plugins/random"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/stratatest"
)

const (
	// workspaceImage is the image in which upstream's operator runs a Stack that names no other.
	workspaceImage = "docker.io/pulumi/pulumi:latest-nonroot"
	// workspaceUser is the user of the operator's restricted profile.
	workspaceUser = 1000
	// componentsImage is workspaceImage with the plugin strata, for the Stacks that name it.
	componentsImage = "docker.io/acme/pulumi-strata:1"
	// kubernetesPlugin is any version of the plugin: the Program asks for none.
	kubernetesPlugin = "4.18.2"
)

// workspaceBundle writes an archive with workspaceImage: pulumi, its YAML language host, and Strata's plugins where `pulumi
// install` looks for plugins of any version. The official image downloads the plugins at the first run. The archive also
// contains componentsImage.
func workspaceBundle(t *testing.T) string {
	t.Helper()
	recipe, err := debian.Load(os.DirFS("testdata/workspace"))
	if err != nil {
		t.Fatal(err)
	}
	builder, err := debian.NewBuilder(debian.Options{Report: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	image, err := builder.Image(t.Context(), recipe)
	if err == nil {
		image, err = mutate.AppendLayers(image, workspaceLayer(t))
	}
	if err == nil {
		image, err = withEndpoints(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	components, err := mutate.AppendLayers(image, pluginLayer(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string]v1.Image{workspaceImage: image, componentsImage: components} {
		if err := bundle.Put(t.Context(), s, name, image); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "workspace.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := bundle.Export(t.Context(), s, file, workspaceImage, componentsImage); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// withEndpoints returns the image with the endpoints that Strata's plugin for Google Cloud needs.
func withEndpoints(image v1.Image) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	for name, value := range cloud.Endpoints(google.URL) {
		file.Config.Env = append(file.Config.Env, name+"="+value)
	}
	return mutate.ConfigFile(image, file)
}

// workspaceLayer returns the layer with pulumi and the plugins.
func workspaceLayer(t *testing.T) v1.Layer {
	t.Helper()
	const programs, home = "pulumi/bin/", "home/pulumi/.pulumi/"
	file, err := os.Create(filepath.Join(t.TempDir(), "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	add := func(header tar.Header, content io.Reader) {
		t.Helper()
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if content == nil {
			return
		}
		if _, err := io.Copy(archive, content); err != nil {
			t.Fatal(err)
		}
	}
	for name, source := range map[string]string{
		"pulumi": toolchaintest.Path(t, "pulumi"), "pulumi-language-yaml": toolchaintest.Path(t, "pulumi-language-yaml"),
		"pulumi-resource-kubernetes": toolchaintest.Path(t, "pulumi-resource-kubernetes"), "strata": stratatest.Executable(t),
	} {
		program, err := os.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		info, err := program.Stat()
		if err != nil {
			t.Fatal(err)
		}
		add(tar.Header{Name: programs + name, Mode: 0o755, Size: info.Size()}, program)
		program.Close()
	}
	folder := func(name string) {
		t.Helper()
		add(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Uid: workspaceUser, Gid: workspaceUser}, nil)
	}
	folder(path.Clean(home))
	folder(home + "plugins")
	for _, plugin := range [][3]string{
		{"gcp", gcp.Version, "strata"}, {"random", random.Version, "strata"}, {"kubernetes", kubernetesPlugin, "pulumi-resource-kubernetes"},
	} {
		at := home + fmt.Sprintf("plugins/resource-%s-v%s", plugin[0], plugin[1])
		folder(at)
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: at + "/pulumi-resource-" + plugin[0], Linkname: "/" + programs + plugin[2], Mode: 0o777}, nil)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return layer
}
