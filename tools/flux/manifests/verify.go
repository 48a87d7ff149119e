package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
)

var image = regexp.MustCompile(`(?m)^\s+image: (\S+)$`)

// verify renders an installation from a copy of the manifests in work, and compares its images with the pins.
func verify(pins map[string]string, manifests, work string) error {
	if err := os.CopyFS(work, os.DirFS(manifests)); err != nil {
		return err
	}
	options := install.MakeDefaultOptions()
	rendered, err := install.Generate(options, work)
	if err != nil {
		return fmt.Errorf("render an installation from %s: %w", manifests, err)
	}
	want := map[string]bool{}
	for _, controller := range options.Components {
		want[path.Join(options.Registry, controller)+":"+pins[module(controller)]] = true
	}
	got := map[string]bool{}
	for _, match := range image.FindAllStringSubmatch(rendered.Content, -1) {
		got[match[1]] = true
	}
	if !maps.Equal(want, got) {
		return fmt.Errorf("an installation has the images %v, but go.mod pins %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	return nil
}
