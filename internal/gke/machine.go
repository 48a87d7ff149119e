package gke

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/repository"
)

// checkGo looks for the Go toolchain that compiles the layers' programs. It runs go in the repository, where go itself
// reports a version that is too old.
func (p *Platform) checkGo(ctx context.Context) []Finding {
	if _, err := exec.LookPath("go"); err != nil {
		return []Finding{{Check: "go", Found: "it is not on PATH, and the layers' programs need it to compile", Remedy: "install it: " + goInstall}}
	}
	var said bytes.Buffer
	command := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	command.Dir, command.Stderr = p.Root, &said
	if err := command.Run(); err != nil {
		return []Finding{{Check: "go", Found: firstLine(said.String(), err), Remedy: "install the version that go.mod names: " + goInstall}}
	}
	return nil
}

// checkPins compares the pins of an organisation's repository with this strata. The layers run the version in go.mod, so a
// difference is a note.
func (p *Platform) checkPins() []Finding {
	r := repository.At(p.Root)
	if !r.Organisation {
		return nil
	}
	if _, err := r.Pins(); err != nil {
		return []Finding{{Check: "strata.yaml", Found: err.Error(), Remedy: "correct the file"}}
	}
	if err := r.CheckPins(buildinfo.Version); err != nil {
		return []Finding{{Check: "version", Note: true, Found: err.Error(), Remedy: "the layers run the version in go.mod"}}
	}
	return nil
}

// checkGoogle looks for a Google identity in the places where Google's libraries look, in their order. It makes no
// requests.
func checkGoogle() []Finding {
	for _, name := range []string{"GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"} {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		// The provider accepts the content of a key as well as the path of a key file.
		if name == "GOOGLE_OAUTH_ACCESS_TOKEN" || strings.HasPrefix(strings.TrimSpace(value), "{") {
			return nil
		}
		if _, err := os.Stat(value); err != nil {
			return []Finding{{Check: "Google identity", Found: name + " names a file that does not exist", Remedy: "run `unset " + name + "` or create the file"}}
		}
		return nil
	}
	folder := os.Getenv("CLOUDSDK_CONFIG")
	if folder == "" {
		if config, err := os.UserHomeDir(); err == nil {
			folder = filepath.Join(config, ".config", "gcloud")
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "application_default_credentials.json")); err == nil || onGoogle() {
		return nil
	}
	return []Finding{{Check: "Google identity", Found: "there are no application default credentials", Remedy: "run `gcloud auth application-default login`"}}
}

// onGoogle reports whether this is a machine of Google Cloud, whose metadata server provides an identity.
func onGoogle() bool {
	product, err := os.ReadFile("/sys/class/dmi/id/product_name")
	return err == nil && strings.Contains(string(product), "Google")
}
