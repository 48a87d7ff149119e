package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOverride(t *testing.T) {
	dir := t.TempDir()
	right := script(t, dir, "right", `echo hello version 1.2.3 of today`)
	for _, test := range []struct {
		name, tool, path string
		want             string // part of the error
	}{
		{"the pinned version is used", "hello", right, ""},
		{"another version is refused", "hello", script(t, dir, "wrong", "echo v1.2.30"), "is version v1.2.30, but Strata pins v1.2.3"},
		{"a pre-release is another version", "hello", script(t, dir, "pre", "echo v1.2.3-rc.1"), "is version v1.2.3-rc.1"},
		{"no version is refused", "hello", script(t, dir, "mute", "echo nothing"), "no version in its output: nothing"},
		{"a program that fails is refused", "hello", script(t, dir, "failing", "echo oh no; exit 3"), "exit status 3: oh no"},
		{"a missing file is refused", "hello", filepath.Join(dir, "none"), "no such file or directory: correct it or unset it"},
		{"a folder is not a program", "hello", dir, "is not a program"},
		{"a tool that prints no version is used", "broken", right, ""},
		{"a folder is used as a folder", "folder", dir, ""},
		{"a program is not a folder", "folder", right, "is not a folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PATH", "/usr/bin:/bin") // overridden tools need no Go
			variable := OverrideVariable(test.tool)
			t.Setenv(variable, test.path)
			path, err := openTiny(t, tinyRoot(t), t.TempDir()).Path(t.Context(), test.tool)
			if test.want == "" {
				if err != nil || path != test.path {
					t.Errorf("Path is %q, %v; want the override", path, err)
				}
				return
			}
			checkError(t, err, variable, test.want)
		})
	}
}

func TestOverrideVariable(t *testing.T) {
	if got := OverrideVariable("kube-apiserver"); got != "STRATA_TOOL_KUBE_APISERVER" {
		t.Errorf("the variable is %s", got)
	}
}

// TestErrorsOfTheGoCommand covers errors that the tests in refusal_test.go cannot provoke everywhere.
func TestErrorsOfTheGoCommand(t *testing.T) {
	for _, test := range []struct{ name, says, want string }{
		{
			"Go that knows no such versions", "go: errors parsing go.mod:\n/x/go.mod:3: invalid go version '1.26.0': must match format 1.23",
			"the Go on PATH is too old: 1.26.0 is needed: install it",
		},
		{"a full disk", "mkdir /x: no space left on device", "the disk is full: free some space for"},
		{"an exhausted quota", "mkdir /x: disk quota exceeded", "the disk is full: free some space for"},
		{
			"Go's cache belongs to another user", "failed to initialize build cache at /x/go: mkdir /x/go: permission denied",
			"Go cannot write /x/go (permission denied): make it writable, or name other folders in GOCACHE",
		},
		{"something else", "oh\n  no", "go build -o"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeGo(t, "cat >&2 <<'EOF'\n"+test.says+"\nEOF\nexit 1")
			_, err := openTiny(t, tinyRoot(t), t.TempDir()).Path(t.Context(), "hello")
			checkError(t, err, "build hello v1.2.3: ", test.want)
		})
	}
}

func TestProgramThatDoesNotCompile(t *testing.T) {
	_, err := openTiny(t, tinyRoot(t), t.TempDir()).Path(t.Context(), "broken")
	checkError(t, err, "build broken v1.2.3: go build", "undefined: undefined")
}

func TestNoGoOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tools := openTiny(t, tinyRoot(t), t.TempDir())
	_, err := tools.Path(t.Context(), "hello")
	checkError(t, err, "no Go on PATH", "install Go from https://go.dev/dl")
}

func TestUnknownTool(t *testing.T) {
	_, err := openTiny(t, tinyRoot(t), t.TempDir()).Path(t.Context(), "nothing")
	checkError(t, err, `no tool is named "nothing"`, "hello, folder, broken, hello-again")
}

func TestReadOnlyCacheIsExplained(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.EACCES} {
		err := explain(&os.PathError{Op: "mkdir", Path: "/cache/tiny", Err: cause}, "/cache")
		checkError(t, err, "the cache /cache cannot be written", cause.Error(), "XDG_CACHE_HOME")
	}
}

func TestCacheThatIsAFile(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "file")
	write(t, cache, "")
	_, err := openTiny(t, tinyRoot(t), cache).Path(t.Context(), "hello")
	checkError(t, err, "build hello v1.2.3: ", cache)
}

func TestModuleThatDoesNotPin(t *testing.T) {
	root := tinyRoot(t)
	write(t, filepath.Join(root, "tools", "tiny", "go.mod"), "module example.com/tiny\n")
	_, err := open(root, t.TempDir(), tinyCatalogue())
	checkError(t, err, "go.mod does not require example.com/upstream, the module of hello")
}

// checkError fails the test unless err is one line that contains the parts.
func checkError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not contain %q", err, part)
		}
	}
}
