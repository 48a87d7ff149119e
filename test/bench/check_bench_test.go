package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// checkBound bounds the check of a repository with checkFiles files. It is the median of checkCalls calls: the first reads the
// program and the schemas from the disk.
const (
	checkFiles = 100
	checkCalls = 5
	checkBound = time.Second
)

// BenchmarkCheck checks a repository with as many files: a Program and a Stack in half of them, ConfigMaps in the others, the list
// of all, and the files that a new repository keeps for checks and editors.
func BenchmarkCheck(b *testing.B) {
	p := stratatest.NewWithTools(b)
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
	for i := range checkFiles - 3 {
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
	call := func(args ...string) string {
		cmd := p.Command(b.Context(), args...)
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Run(); err != nil {
			b.Fatalf("strata %v: %v: %s", args, err, output.String())
		}
		return output.String()
	}
	teams := filepath.Join(p.Dir, "teams.yaml")
	if err := os.WriteFile(teams, []byte("apiVersion: strata/v1\nkind: Teams\nteams: [{name: web}]\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	// This call also stores the schemas of the plugins.
	call("schema", "--teams", teams, "--team", "web", "--write", folder)
	var all []time.Duration
	for range checkCalls {
		began := time.Now()
		output := call("check", folder)
		all = append(all, time.Since(began))
		// A check that leaves out a part says so in a note, and would be too fast.
		if strings.Contains(output, "note:") || !strings.HasPrefix(output, "no findings for team web in ") {
			b.Fatalf("the check says %s", output)
		}
	}
	slices.Sort(all)
	figure.Seconds(b, fmt.Sprintf("check: a repository of %d files", checkFiles), all[checkCalls/2], checkBound)
}
