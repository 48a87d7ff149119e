package e2e

import (
	"context"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/images"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/docstest"
)

const (
	tourPage    = "README.md"
	tourSection = "A tour of two minutes"

	// auditPage has the report of an audit of the tour's platform, in auditSection.
	auditPage    = "docs/reference/audit.md"
	auditSection = "The report of a platform"

	// tourFolder is the path of the reader's clone on the page.
	tourFolder = "/home/you/strata"

	// tourPatience limits the wait for the status on the page. tourSettling limits the wait before an output is written
	// into the page.
	tourPatience, tourSettling = 2 * time.Minute, 20 * time.Second
)

var updateTour = flag.Bool("update-tour", false, "write the output of the tour's commands into "+tourPage+" and "+auditPage)

// tourOutputs are the parts that differ from one tour to the next. Everything else is compared literally.
var tourOutputs = docstest.Outputs{
	{Name: "TIME", Pattern: regexp.MustCompile(` *\b\d+(m\d+)?(\.\d)?s\b`)},
	// The warnings of doctor differ from machine to machine.
	{Name: "MACHINE", Pattern: regexp.MustCompile(`meets the requirements(; .*)?`)},
	{Name: "ADDRESS", Pattern: regexp.MustCompile(`127\.\d+\.\d+\.\d+`)},
	{Name: "PORT", Pattern: regexp.MustCompile(`:\d{4,5}\b`)},
	{Name: "COMMIT", Pattern: regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{7,8})\b`)},
	{Name: "POD", Pattern: regexp.MustCompile(`-[0-9a-f]{7,10}-[a-z0-9]{5}\b`)},
}

// tourStep is a block of commands of a page, and the block below it with their output.
type tourStep struct {
	page     string
	commands docstest.Block
	shown    *docstest.Block
}

// looks reports whether the commands only show the status. A reader, and the test, may have to repeat them until the
// status is as shown.
func (s tourStep) looks() bool {
	return strings.HasSuffix(s.commands.Text, "\nstrata status\n") || s.commands.Text == "strata status\n"
}

// refreshed reports whether the page needs another output: one that differs, or if the page omits no lines, one with the
// current times and ports.
func (s tourStep) refreshed(same bool, output string) bool {
	return !same || s.shown != nil && s.shown.Text != output && !strings.Contains(s.shown.Text, docstest.Left+"\n")
}

// tourSteps returns the steps of the tour. The audit of its platform follows the first step, which creates the platform. Only root can
// attempt what another local user must not do, so the audit of another user has another report.
func tourSteps(t *testing.T) []tourStep {
	t.Helper()
	steps := stepsOf(t, tourPage, tourSection)
	if os.Geteuid() != 0 {
		return steps
	}
	return slices.Insert(steps, 1, stepsOf(t, auditPage, auditSection)...)
}

// stepsOf returns the command blocks of a page's section, each with its output block. It fails the test for any other block
// in that section.
func stepsOf(t *testing.T, page, section string) []tourStep {
	t.Helper()
	var steps []tourStep
	for _, block := range docstest.Blocks(t, page) {
		if block.Section != section {
			continue
		}
		switch {
		case block.Language == "sh":
			steps = append(steps, tourStep{page: page, commands: block})
		case block.Language == "text" && len(steps) > 0 && steps[len(steps)-1].shown == nil:
			steps[len(steps)-1].shown = &block
		default:
			t.Fatalf("%s:%d: a block of %q is neither commands nor the output of commands", page, block.Line, block.Language)
		}
	}
	if len(steps) == 0 {
		t.Fatalf("%s has no section %q with commands", page, section)
	}
	return steps
}

// tourMachine returns the environment of a user who has Go, git, make and kubectl, and has never used git. The kubectl is
// a dummy: up suggests commands for it if it exists, but the tour does not use it.
func tourMachine(t *testing.T, dir string) []string {
	t.Helper()
	variables, err := caches()
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"HOME": "home", "TMPDIR": "tmp", "PATH": "bin"} {
		variables[name] = filepath.Join(dir, folder)
		if err := os.MkdirAll(variables[name], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(variables["PATH"], "kubectl"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	variables["PATH"] += string(os.PathListSeparator) + os.Getenv("PATH")
	variables["GIT_CONFIG_NOSYSTEM"] = "1"
	variables["GIT_TERMINAL_PROMPT"] = "0"
	var environment []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		environment = append(environment, name+"="+variables[name])
	}
	return environment
}

func TestAllCommandsOfTheReadMeAreInTheTour(t *testing.T) {
	for _, block := range docstest.Blocks(t, tourPage) {
		if block.Language == "sh" && block.Section != tourSection {
			t.Errorf("%s:%d: no test runs commands outside of %q", tourPage, block.Line, tourSection)
		}
	}
	stepsOf(t, tourPage, tourSection)
	stepsOf(t, auditPage, auditSection)
}

// TestTheTour runs the tour of the README literally, in a clone, and compares the output of each command.
func TestTheTour(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	t.Parallel()
	steps := tourSteps(t)
	build(t)
	ensureTools(t)
	dir, err := os.MkdirTemp("", "strata-tour-")
	if err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(dir, "strata")
	if err := cloneTo(repository); err != nil {
		t.Fatal(err)
	}
	environment := tourMachine(t, dir)
	loadImages(t, repository, environment)
	t.Cleanup(func() {
		command := exec.CommandContext(context.Background(), filepath.Join(strataDir, "strata"), "local", "stop")
		command.Dir, command.Env = repository, environment
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("stop the platform: %v: %s", err, out)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	session := docstest.NewSession(t, repository, environment)
	printed, ports, changed := "", map[string]int{}, map[string]map[int]string{tourPage: {}, auditPage: {}}
	for _, step := range steps {
		output, same := takeStep(t, session, step, repository, printed)
		printed += output
		if !same && !*updateTour {
			t.Errorf("%s:%d: the output should be:\n%s\nand is:\n%s", step.page, step.commands.Line, step.shown.Text, output)
		}
		if step.refreshed(same, output) {
			changed[step.page][step.shown.Line] = output
		}
		if commands := tourOutputs.As(step.commands.Text, printed); commands != step.commands.Text {
			changed[step.page][step.commands.Line] = commands
		}
		if kept, err := portsOf(filepath.Join(repository, ".strata", "home.json")); err == nil {
			ports = kept
		}
	}
	session.End()
	if *updateTour {
		writeTour(t, changed)
	}
	if left := append(leftOf(ports, filepath.Join(dir, "tmp")), processesOf(dir)...); len(left) > 0 {
		t.Errorf("the tour has left:\n%s", strings.Join(left, "\n"))
	}
	if _, err := os.Stat(filepath.Join(repository, ".strata")); err == nil {
		t.Error("the tour has left the home")
	}
}

// loadImages gives the reader's platform the images of WordPress, which a reader's machine pulls from the network.
func loadImages(t *testing.T, repository string, environment []string) {
	t.Helper()
	folder, err := images.Recipe("wordpress")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	if err := images.Write(t.Context(), file, images.Contents{
		Recipes: []fs.FS{folder}, CloudSQLProxy: toolchaintest.Path(t, "cloud-sql-proxy"), Report: func(line string) { t.Log(line) },
	}); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(strataDir, "strata"), "image", "load", file)
	command.Dir, command.Env = repository, environment
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("load the images: %v: %s", err, out)
	}
}

// takeStep runs the commands of a step and reports whether the page shows their output. A step must exit with 0, unless
// the page sets another code after the fence: ```sh exits 1.
func takeStep(t *testing.T, session *docstest.Session, step tourStep, repository, printed string) (output string, same bool) {
	t.Helper()
	want := 0
	if step.commands.Name == "exits 1" {
		want = 1
	}
	commands := tourOutputs.As(step.commands.Text, printed)
	code, patience := 0, tourPatience
	if *updateTour {
		patience = tourSettling
	}
	_ = wait.PollUntilContextTimeout(t.Context(), time.Second, patience, true, func(context.Context) (bool, error) {
		var err error
		if output, code, err = session.Run(strings.ReplaceAll(commands, tourFolder, repository)); err != nil {
			t.Fatalf("%s:%d: %v", step.page, step.commands.Line, err)
		}
		output = strings.ReplaceAll(output, repository, tourFolder)
		same = step.shown == nil || tourOutputs.Same(step.shown.Text, output)
		return !step.looks() || same && code == want, nil
	})
	t.Logf("$ %s%s", commands, output)
	if code != want {
		t.Fatalf("%s:%d: the commands end with %d, want %d", step.page, step.commands.Line, code, want)
	}
	return output, same
}

// writeTour writes the printed output into the pages.
func writeTour(t *testing.T, changed map[string]map[int]string) {
	t.Helper()
	for page, blocks := range changed {
		text, err := docstest.Replace(docstest.Read(t, page), blocks)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, page), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
