package bootstrap

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/plugins/flux/manifests"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/repository"
)

func TestInvalidOptionsAreRejected(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		options options.Options
		want    string
	}{
		"no repository":        {options.Options{}, "the provider has no git.url"},
		"ssh":                  {options.Options{Config: options.Config{Git: repository.Git{URL: "ssh://git@x/y"}}}, "neither http nor https"},
		"a password over http": {options.Options{Config: options.Config{Git: repository.Git{URL: "http://x/y", HTTP: repository.HTTP{Password: "p"}}}}, "would expose the password"},
		"no manifests":         {options.Options{Config: options.Config{Git: repository.Git{URL: "https://x/y"}}}, "set " + manifests.FolderVariable},
		"another version": {
			options.Options{Config: options.Config{Git: repository.Git{URL: "https://x/y"}}, Manifests: dir, Install: options.Install{Version: "v1.2.3"}},
			"no manifests of Flux v1.2.3 in " + dir,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), test.options, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}
