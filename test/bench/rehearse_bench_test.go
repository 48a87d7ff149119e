package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// rehearseBound limits a rehearsal, and auditBound an audit of the same platform.
const rehearseBound, auditBound = 120 * time.Second, 20 * time.Second

// moreStacks are the Stacks of each team beside the one that its repository begins with: 10 in all.
var moreStacks = map[string]int{"web": 3, "api": 2, "shop": 2}

// BenchmarkRehearse audits and backs up a platform with 3 teams and 10 Stacks, and rehearses the same version beside it.
func BenchmarkRehearse(b *testing.B) {
	p := stratatest.NewWithTools(b)
	root, err := toolchain.FindRoot(".")
	if err != nil {
		b.Fatal(err)
	}
	clone := filepath.Join(p.Dir, "clone")
	if out, err := exec.CommandContext(b.Context(), "git", "-c", "safe.directory=*", "clone", "--quiet", "--shared", root, clone).CombinedOutput(); err != nil {
		b.Fatalf("clone the repository: %v: %s", err, out)
	}
	run := func(args ...string) time.Duration {
		command := p.Command(b.Context(), args...)
		command.Dir = clone
		began := time.Now()
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("strata %s: %v\n%s", args, err, out)
		}
		return time.Since(began)
	}
	for team := range moreStacks {
		if team != "web" {
			run("team", "add", team)
		}
	}
	run("up")
	for team, count := range moreStacks {
		repository := cloneOf(b, p, team, team)
		for i := range count {
			addStack(b, repository.dir, team, i)
		}
		repository.git("add", "--all")
		repository.git("commit", "--quiet", "--message=Add Stacks")
		repository.git("push", "--quiet", "--push-option=wait")
	}
	run("up")

	figure.Seconds(b, "audit: 3 teams, 10 Stacks", run("audit"), auditBound)
	file, passphrase := filepath.Join(p.Dir, "backup"), filepath.Join(p.Dir, "passphrase")
	if err := os.WriteFile(passphrase, []byte("the passphrase of a benchmark"), 0o600); err != nil {
		b.Fatal(err)
	}
	figure.Seconds(b, "backup: 3 teams, 10 Stacks", run("backup", file, "--passphrase-file", passphrase), backupBound)
	figure.Seconds(b, "rehearse: 3 teams, 10 Stacks", run("rehearse", "--from", file, "--passphrase-file", passphrase), rehearseBound)
}

// addStack adds a Stack with a database to a clone of a team's repository.
func addStack(b *testing.B, dir, team string, number int) {
	b.Helper()
	name := fmt.Sprintf("more%d", number)
	text := strings.NewReplacer("NAME", name, "DATABASE", fmt.Sprintf("%s_%s", team, name)).Replace(`apiVersion: pulumi.com/v1
kind: Program
metadata:
  name: NAME
  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}
program:
  resources:
    database:
      type: gcp:sql:Database
      properties: {name: DATABASE, instance: "${platform:instance}"}
    password:
      type: random:RandomPassword
      properties: {length: 32}
    login:
      type: kubernetes:core/v1:Secret
      properties:
        metadata: {name: NAME}
        stringData: {password: "${password.result}", database: "${database.name}"}
---
apiVersion: pulumi.com/v1
kind: Stack
metadata: {name: NAME}
spec:
  programRef: {name: NAME}
`)
	list := filepath.Join(dir, "kustomization.yaml")
	content, err := os.ReadFile(list)
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600),
			os.WriteFile(list, []byte(strings.Replace(string(content), "resources:\n", "resources:\n  - "+name+".yaml\n", 1)), 0o600),
		)
	}
	if err != nil {
		b.Fatal(err)
	}
}
