//go:build ignore

// The program generate writes this package from schema.json with Pulumi's own generator. It does the work of `pulumi package
// add`, except that the schema is a file, and that the package becomes a part of this module. It runs with the module file
// of tools/pulumi, which pins Pulumi for everything.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile("schema.json")
	if err != nil {
		log.Fatal(err)
	}
	files, err := generate(text)
	if err != nil {
		log.Fatal(fmt.Errorf("generate the package of schema.json: %w", err))
	}
	for name, content := range files {
		// The generator puts the files into a folder with the name of the package. Its other files are those of a module.
		name, inside := strings.CutPrefix(name, "flux/")
		if !inside || path.Ext(name) != ".go" || name == "doc.go" {
			continue // doc.go is written by hand: the generator's has a sentence and no constants
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the files of the package, by their paths.
func generate(text []byte) (map[string][]byte, error) {
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	pkg, problems, err := schema.BindSpec(spec, schema.NewNullLoader(), schema.ValidationOptions{})
	if err != nil {
		return nil, err
	}
	if problems.HasErrors() {
		return nil, problems
	}
	return gogen.GeneratePackage("generate", pkg, nil)
}
