package gohost_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/plugins/gohost"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// TestMain runs the test binary as the language host if its name is that of the host, like strata's own binary.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == gohost.Executable {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := gohost.Serve(ctx, os.Stdout, "v0.0.0", os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// program is a program whose behaviour depends on its configuration.
const program = `package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	if _, ok := os.LookupEnv("PULUMI_CONFIG"); !ok {
		panic("not started by the host")
	}
	pulumi.Run(func(ctx *pulumi.Context) error {
		mode, _ := ctx.GetConfig("app:mode")
		switch mode {
		case "error":
			return errors.New("the moon is too far")
		case "panic":
			panic("the moon fell")
		case "exit":
			fmt.Fprintln(os.Stderr, "the moon is new")
			os.Exit(7)
		case "wait":
			fmt.Printf("waiting as %d\n", os.Getpid())
			select {}
		}
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		fmt.Println("printed for people")
		fmt.Fprintln(os.Stderr, "complained for people")
		secret, _ := ctx.GetConfig("app:password")
		ctx.Export("secret", pulumi.String(secret))
		ctx.Export("marked", pulumi.Bool(ctx.IsConfigSecret("app:password")))
		ctx.Export("name", pulumi.Sprintf("%s/%s/%s", ctx.Organization(), ctx.Project(), ctx.Stack()))
		ctx.Export("root", pulumi.String(ctx.RootDirectory()))
		ctx.Export("dir", pulumi.String(dir))
		return nil
	})
}
`

// project is a Pulumi project in a folder of its own, with the toolchain's CLI and a backend.
type project struct {
	dir string
	env []string
}

// newProject creates a project of the program, in a module with Strata's own dependency versions. runtime is the
// runtime of its Pulumi.yaml. The program is in the folder app.
func newProject(t *testing.T, runtime, program string) project {
	t.Helper()
	dir, root := t.TempDir(), toolchaintest.Root(t)
	bin := filepath.Join(dir, "bin")
	for _, folder := range []string{bin, filepath.Join(dir, "app"), filepath.Join(dir, "tmp"), filepath.Join(dir, "state")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"pulumi": toolchaintest.Path(t, "pulumi"), gohost.Executable: self} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	p := project{dir: dir}
	p.write(t, "go.mod", regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(read("go.mod"), "module example.com/app"))
	p.write(t, "go.sum", read("go.sum"))
	p.write(t, "Pulumi.yaml", "name: app\nmain: app\nruntime: "+runtime+"\n")
	p.write(t, "app/main.go", program)
	p.env = append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PULUMI_HOME="+filepath.Join(dir, ".pulumi"),
		"TMPDIR="+filepath.Join(dir, "tmp"), "PULUMI_BACKEND_URL=file://"+filepath.Join(dir, "state"), "PULUMI_CONFIG_PASSPHRASE=test",
		"PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_STACK=dev",
	)
	p.mustRun(t, "stack", "init", "dev")
	return p
}

func (p project) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command returns a call of pulumi in the project's folder.
func (p project) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(p.dir, "bin", "pulumi"), append(args, "--non-interactive", "--color=never")...)
	c.Dir, c.Env = p.dir, p.env
	return c
}

// run runs pulumi and returns its output.
func (p project) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := p.command(t, args...).CombinedOutput()
	return string(out), err
}

func (p project) mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.run(t, args...)
	if err != nil {
		t.Fatalf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// once fails the test unless pulumi's closing diagnostics contain part exactly once.
func once(t *testing.T, text, part string) {
	t.Helper()
	_, diagnostics, _ := strings.Cut(text, "Diagnostics:")
	if n := strings.Count(diagnostics, part); n != 1 {
		t.Errorf("%q occurs %d times, want once:\n%s", part, n, text)
	}
}

// leftovers returns the files that runs left in the folder for temporary files.
func (p project) leftovers(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
