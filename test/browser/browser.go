// Package browser gives tests a headless Chromium. It needs no installed browser: Chromium and its libraries are packages of
// Debian, in a folder of the user's cache, which is the root of the browser's processes.
package browser

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/strata-platform/strata/internal/local/machine/images/debian"
)

//go:embed image
var image embed.FS

// rootVariable contains the folder with the files of Chromium, in the environment of the process that becomes the browser.
const rootVariable = "STRATA_TEST_BROWSER_ROOT"

// options are the settings of Chromium.
var options = []chromedp.ExecAllocatorOption{
	// The folder is in the browser's own /tmp, which ends with the browser.
	chromedp.UserDataDir("/tmp/profile"),
	chromedp.WindowSize(1280, 1000), chromedp.DisableGPU,
	chromedp.Flag("lang", "en-US"),
	// The namespaces of this package confine the browser. Its own sandbox would need more user namespaces.
	chromedp.Flag("no-sandbox", true),
	// Tests see pages of this machine, without a proxy, and Chromium itself asks the network for nothing.
	chromedp.Flag("no-proxy-server", true), chromedp.Flag("disable-component-update", true),
}

// Open starts a browser with an empty profile, and returns a context for chromedp with a first tab. The browser uses the network of
// this machine. The test's clean-up ends all its processes. Open fails the test if the browser cannot start. The program of the test
// must call Main.
func Open(t testing.TB) context.Context {
	t.Helper()
	root, err := folder(t)
	if err != nil {
		t.Fatalf("prepare the browser: %v", err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := append(chromedp.DefaultExecAllocatorOptions[:], options...)
	all = append(all, chromedp.ExecPath(own), chromedp.NoInheritEnv, chromedp.Env(rootVariable+"="+root),
		chromedp.ModifyCmdFunc(func(c *exec.Cmd) { c.SysProcAttr = attributes() }))
	allocator, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), all...)
	t.Cleanup(cancel)
	tab, cancelTab := chromedp.NewContext(allocator, chromedp.WithErrorf(t.Logf))
	t.Cleanup(cancelTab)
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return tab
}

// folder returns the folder with the files of Chromium.
func folder(t testing.TB) (string, error) {
	files, err := fs.Sub(image, "image")
	if err != nil {
		return "", err
	}
	recipe, err := debian.Load(files)
	if err != nil {
		return "", err
	}
	builder, err := debian.NewBuilder(debian.Options{Report: func(line string) { t.Log("Chromium: " + line) }})
	if err != nil {
		return "", err
	}
	return builder.Folder(t.Context(), recipe)
}
