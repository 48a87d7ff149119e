// Package release builds the files of a release of Strata: archives of the command and of the Pulumi plugin, the bundle of
// prebuilt tools, bills of materials, checksums and their signature. The same commit, built by the same version of Go, always
// gives the same files.
package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
)

// Options describe a release.
type Options struct {
	// Root is the root folder of Strata's repository.
	Root string
	// Out is the folder of the files. Build creates it; it must not exist, or be empty.
	Out string
	// Platforms are the platforms of the command and of the plugin, each GOOS/GOARCH.
	Platforms []string
	// Bundles is a folder with the bundles of other platforms, and their manifests, from releases of the same commit on those
	// platforms. The release adopts those of Platforms. Empty means none.
	Bundles string
	// Modified allows changes that are not committed. `strata version` of the built command then reports them.
	Modified bool
	// Key signs the checksums. Nil leaves them unsigned.
	Key *Key
	// Log gets a line for each step.
	Log io.Writer
}

// platforms are the platforms for which the command compiles. Its packages use system calls of Unix, so Windows is not one of them.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// Names of files in a release.
const (
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.sig"

	manifestSuffix  = ".manifest.json"
	materialsSuffix = ".cdx.json"
)

// Build builds the release. The bundle comes first, because the command for this platform contains the digest of the bundle's
// manifest.
func Build(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	commit, err := readCommit(ctx, o.Root)
	if err != nil {
		return err
	}
	if commit.modified && !o.Modified {
		return errors.New("build a release: the repository contains changes that are not committed: commit them, or pass -modified")
	}
	digest, err := o.bundle(ctx, commit)
	if err != nil {
		return err
	}
	for _, platform := range o.Platforms {
		own := digest
		if platform != prebuilt.ThisPlatform() {
			if own, err = o.adopt(platform); err != nil {
				return err
			}
		}
		if own == "" {
			o.log("%s: without a bundle: to add it, let BUNDLES name a folder with the bundle of this platform", platform)
		}
		for _, p := range programs(commit, platform, own) {
			if err := o.program(ctx, commit, platform, p); err != nil {
				return err
			}
		}
	}
	return o.sign()
}

func (o Options) check() error {
	for _, platform := range o.Platforms {
		if !slices.Contains(platforms, platform) {
			return fmt.Errorf("build a release: unknown platform %q: the platforms are %s", platform, strings.Join(platforms, ", "))
		}
	}
	if len(o.Platforms) == 0 {
		return errors.New("build a release: name a platform")
	}
	entries, err := os.ReadDir(o.Out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("build a release: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("build a release: %s is not empty: remove it, or name another folder", o.Out)
	}
	return os.MkdirAll(o.Out, 0o755)
}

func (o Options) log(format string, args ...any) { fmt.Fprintf(o.Log, format+"\n", args...) }

// bundle writes the bundle of this platform's tools, its manifest and its bill of materials, and returns the digest of the
// manifest.
func (o Options) bundle(ctx context.Context, c commit) (string, error) {
	tools, err := toolchain.Open(o.Root)
	if err != nil {
		return "", err
	}
	m, save, err := tools.Bundle(ctx, func(e toolchain.Event) { o.log("%s", e) })
	if err != nil {
		return "", err
	}
	content, digest, err := m.Encode()
	if err != nil {
		return "", err
	}
	name := prebuilt.FileName(buildinfo.Version, prebuilt.ThisPlatform())
	file, err := os.Create(filepath.Join(o.Out, name))
	if err != nil {
		return "", err
	}
	if err := errors.Join(save(file), file.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	o.log("%s: %d tools, manifest %s", name, len(tools.Names()), digest)
	base := filepath.Join(o.Out, strings.TrimSuffix(name, prebuilt.Extension))
	if err := os.WriteFile(base+manifestSuffix, content, 0o644); err != nil {
		return "", err
	}
	var programs []string
	for _, tool := range tools.Names() {
		path, err := tools.Path(ctx, tool)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			programs = append(programs, path)
		}
	}
	return digest, o.materials(base, "strata-tools", c.time, programs)
}

// adopt copies the bundle of another platform into the release, and returns the digest of its manifest. Without the bundle,
// the digest is empty.
func (o Options) adopt(platform string) (digest string, err error) {
	name := prebuilt.FileName(buildinfo.Version, platform)
	base := strings.TrimSuffix(name, prebuilt.Extension)
	archive, err := os.Open(filepath.Join(o.Bundles, name))
	if o.Bundles == "" || errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer archive.Close()
	content, err := os.ReadFile(filepath.Join(o.Bundles, base+manifestSuffix))
	if err != nil {
		return "", fmt.Errorf("adopt the bundle of %s: %w", platform, err)
	}
	if digest, err = prebuilt.Verify(archive, content, platform); err != nil {
		return "", fmt.Errorf("adopt the bundle of %s: %s: %w", platform, archive.Name(), err)
	}
	for _, file := range []string{name, base + manifestSuffix, base + materialsSuffix} {
		if err := copyFile(filepath.Join(o.Bundles, file), filepath.Join(o.Out, file)); err != nil {
			return "", fmt.Errorf("adopt the bundle of %s: %w", platform, err)
		}
	}
	o.log("%s: adopted, manifest %s", name, digest)
	return digest, nil
}

// materials writes the bill of materials of programs.
func (o Options) materials(base, name string, made time.Time, programs []string) error {
	document, err := bom(name, buildinfo.Version, made, programs)
	if err != nil {
		return err
	}
	return os.WriteFile(base+materialsSuffix, document, 0o644)
}

// sign writes the checksums, and with a key their signature.
func (o Options) sign() error {
	list, err := sums(o.Out)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Out, sumsName), list, 0o644); err != nil {
		return err
	}
	if o.Key == nil {
		o.log("UNSIGNED: this release has no signature: name a private key to sign %s", sumsName)
		return nil
	}
	signature, err := o.Key.Sign(list)
	if err != nil {
		return fmt.Errorf("sign %s: %w", sumsName, err)
	}
	fingerprint, err := o.Key.Fingerprint()
	if err != nil {
		return err
	}
	o.log("%s: signed by the key with the SHA-256 fingerprint %s", sumsName, fingerprint)
	return os.WriteFile(filepath.Join(o.Out, signatureName), signature, 0o644)
}
