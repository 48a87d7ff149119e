package toolchain

import (
	"archive/zip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoThatIsTooOld(t *testing.T) {
	newer := func(t *testing.T, path string) string {
		t.Helper()
		root := tinyRoot(t)
		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, path), strings.Replace(string(content), "go 1.26.0", "go 1.99.0", 1))
		return root
	}
	t.Run("and may not fetch another", func(t *testing.T) {
		t.Setenv("GOTOOLCHAIN", "local")
		_, err := openTiny(t, newer(t, "tools/tiny/go.mod"), t.TempDir()).Path(t.Context(), "hello")
		checkError(t, err, "build hello v1.2.3: the Go on PATH, 1.", "is too old: 1.99.0 is needed: install it from https://go.dev/dl, or let Go fetch it")
	})
	t.Run("and cannot fetch another", func(t *testing.T) {
		t.Setenv("GOTOOLCHAIN", "auto")
		t.Setenv("GOPROXY", "off")
		_, err := openTiny(t, newer(t, "go.mod"), t.TempDir()).Path(t.Context(), "hello")
		checkError(t, err, "the Go on PATH is too old: 1.99.0 is needed and cannot be fetched (toolchain not available): install it")
	})
}

func TestRefusedModule(t *testing.T) {
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not in this company", http.StatusForbidden)
	}))
	defer forbidden.Close()
	changed := httptest.NewServer(http.HandlerFunc(serveOtherUpstream))
	defer changed.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, test := range []struct{ name, proxy, why string }{
		{"by the proxy", forbidden.URL, ": 403 Forbidden: check the network and go env GOPROXY"},
		{"because there is no proxy", "off", "module lookup disabled by GOPROXY=off: check"},
		{"because no server answers", gone.URL, "connection refused: check"},
		{"because its checksum differs", changed.URL, "checksum mismatch: check"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GOPROXY", test.proxy)
			t.Setenv("GOMODCACHE", t.TempDir())
			t.Setenv("GOSUMDB", "off")
			_, err := openTiny(t, rootWithUpstream(t), t.TempDir()).Path(t.Context(), "hello")
			checkError(t, err, "build hello v1.2.3: module example.com/upstream@v1.2.3 is not available: ", test.why)
		})
	}
}

// rootWithUpstream returns a tiny root whose hello imports the upstream module. go.sum has a checksum of that module.
func rootWithUpstream(t *testing.T) string {
	t.Helper()
	root := tinyRoot(t)
	const sum = " h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	write(t, filepath.Join(root, "tools/tiny/go.sum"), "example.com/upstream v1.2.3"+sum+"example.com/upstream v1.2.3/go.mod"+sum)
	write(t, filepath.Join(root, "tools/tiny/hello/main.go"), "package main\n\nimport _ \"example.com/upstream\"\n\nfunc main() {}\n")
	return root
}

// serveOtherUpstream answers like a module proxy whose upstream module does not match go.sum.
func serveOtherUpstream(w http.ResponseWriter, r *http.Request) {
	const mod = "module example.com/upstream\n"
	switch filepath.Ext(r.URL.Path) {
	case ".mod":
		_, _ = io.WriteString(w, mod)
	case ".zip":
		archive := zip.NewWriter(w)
		defer archive.Close()
		for name, content := range map[string]string{"go.mod": mod, "upstream.go": "package upstream\n"} {
			file, err := archive.Create("example.com/upstream@v1.2.3/" + name)
			if err == nil {
				_, _ = io.WriteString(file, content)
			}
		}
	default:
		http.NotFound(w, r)
	}
}

func TestCacheOnADisk(t *testing.T) {
	for _, test := range []struct{ name, mount, want string }{
		{"full", "size=256k", "the disk is full: free some space for"},
		{"read-only", "ro", "cannot be written: open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			cmd := onMount(t, test.mount, cache, child(t, tinyRoot(t), cache))
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("hello was built: %s", out)
			}
			checkError(t, errors.New(strings.TrimSpace(string(out))), "build hello v1.2.3: ", cache, test.want)
		})
	}
}

// onMount returns a command that runs cmd with a small file system mounted on dir, with mount options, for cmd alone.
func onMount(t *testing.T, options, dir string, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	const mount = `mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"`
	unshare := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "unshare", append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", mount, options, dir}, args...)...)
	}
	if out, err := unshare("true").CombinedOutput(); err != nil {
		t.Skipf("this system lets its users mount nothing: %v: %s", err, out)
	}
	mounted := unshare(cmd.Args...)
	mounted.Env = cmd.Env
	return mounted
}
