package images_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/images"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/archive"
)

func TestTheImageHasTheNameThatTheExampleUses(t *testing.T) {
	folder, err := images.Recipe("wordpress")
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := debian.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../examples/wordpress/wordpress.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(example), "image: "+recipe.Reference+"\n") {
		t.Errorf("examples/wordpress does not use %s", recipe.Reference)
	}
}

func TestEachRecipeIsPinnedForBothArchitectures(t *testing.T) {
	for _, path := range []string{"wordpress", "../test/browser/image"} {
		folder := os.DirFS(path)
		recipe, err := debian.Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, architecture := range []string{"amd64", "arm64"} {
			text, err := fs.ReadFile(folder, architecture+".lock")
			if err != nil {
				t.Fatal(err)
			}
			lock, err := archive.ParseLock(string(text))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if lock.Architecture != architecture || lock.Suite != recipe.Suite {
				t.Errorf("the lock %s/%s.lock is for %s of %s", path, architecture, lock.Architecture, lock.Suite)
			}
			for _, name := range recipe.Packages {
				if !slices.ContainsFunc(lock.Packages, func(p archive.Package) bool { return p.Name == name }) {
					t.Errorf("the lock %s/%s.lock has no package %s", path, architecture, name)
				}
			}
		}
	}
}
