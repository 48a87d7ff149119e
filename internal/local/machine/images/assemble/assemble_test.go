package assemble_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/assemble"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestAPodPullsTheAssembledAuthProxy(t *testing.T) {
	tools, err := toolchain.Open(toolchaintest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	program, version := toolchaintest.Path(t, "cloud-sql-proxy"), tools.Version("cloud-sql-proxy")
	image, references, err := assemble.CloudSQLProxy(program, version, []byte("certificates"))
	if err != nil {
		t.Fatal(err)
	}
	if full := assemble.CloudSQLProxyRepository + ":" + strings.TrimPrefix(version, "v"); !slices.Contains(references, full) || len(references) != 3 {
		t.Errorf("the references are %q", references)
	}
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/cloud-sql-proxy", image)
	home, err := images.Open(t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := home.Pull(t.Context(), host+"/cloud-sql-proxy", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user, err := pulled.User(pulled.Config.User); err != nil || user.UID != 65532 || !slices.Equal(pulled.Config.Entrypoint, []string{"/cloud-sql-proxy"}) {
		t.Errorf("the image runs %q as %+v, %v", pulled.Config.Entrypoint, user, err)
	}

	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	files := map[string][]byte{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(files["etc/ssl/certs/ca-certificates.crt"]); got != "certificates" {
		t.Errorf("the image trusts %q", got)
	}
	copied := filepath.Join(t.TempDir(), "cloud-sql-proxy")
	if err := os.WriteFile(copied, files["cloud-sql-proxy"], 0o700); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), copied, "--version").CombinedOutput(); err != nil || !bytes.Contains(said, []byte(version[1:])) {
		t.Errorf("the program in the image says %q, %v", said, err)
	}
}

func TestTheSameProgramMakesTheSameImage(t *testing.T) {
	var digests []string
	for range 2 {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte("program"), 0o755); err != nil {
			t.Fatal(err)
		}
		image, err := assemble.Image(assemble.Program{Path: path, Name: "program"})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest.String())
	}
	if digests[0] != digests[1] {
		t.Errorf("the digests are %s", digests)
	}
}

func TestWrongProgramsMakeNoImage(t *testing.T) {
	for name, p := range map[string]assemble.Program{
		"a missing program":      {Path: filepath.Join(t.TempDir(), "none"), Name: "program"},
		"a folder":               {Path: t.TempDir(), Name: "program"},
		"a name with a folder":   {Path: "/proc/self/exe", Name: "../program"},
		"a program without name": {Path: "/proc/self/exe"},
	} {
		if _, err := assemble.Image(p); err == nil {
			t.Errorf("%s makes an image", name)
		}
	}
}
