package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// checkBound bounds the check of a repository with checkFiles files.
const (
	checkFiles = 100
	checkBound = time.Second
)

// BenchmarkCheck checks a repository with as many files: a Program and a Stack in half of them, ConfigMaps in the others.
func BenchmarkCheck(b *testing.B) {
	p := stratatest.New(b)
	folder := filepath.Join(p.Dir, "repository")
	write := func(name, content string) {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	list := "resources:\n"
	for i := range checkFiles - 2 {
		name := fmt.Sprintf("file%d.yaml", i)
		list += "  - " + name + "\n"
		content := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {a: b}\n", i)
		if i%2 == 0 {
			content = fmt.Sprintf(`apiVersion: pulumi.com/v1
kind: Program
metadata: {name: p%[1]d}
program:
  resources:
    database: {type: 'gcp:sql:Database', properties: {name: web_db%[1]d, instance: shared}}
    pet: {type: 'random:RandomPet'}
---
apiVersion: pulumi.com/v1
kind: Stack
metadata: {name: p%[1]d}
spec: {programRef: {name: p%[1]d}}
`, i)
		}
		write(name, content)
	}
	write("kustomization.yaml", list)
	write(".strata-team/teams.json", `{"apiVersion": "strata/v1", "kind": "Teams", "teams": [{"name": "web"}]}`)
	// The first call stores the schemas of the plugins.
	for _, name := range []string{"first", "second"} {
		cmd := p.Command(b.Context(), "check", folder)
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		began := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v: %s", err, output.String())
		}
		if name == "second" {
			figure.Seconds(b, fmt.Sprintf("check: a repository of %d files", checkFiles), time.Since(began), checkBound)
		}
	}
}
