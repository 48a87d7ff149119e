package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/strata-platform/strata/test/browser"
)

func TestMain(m *testing.M) {
	browser.Main()
	os.Exit(m.Run())
}

func TestAPageRunsItsScripts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<p id="a">before</p><script>document.getElementById("a").textContent = "after " + (6 * 7)</script>`))
	}))
	defer server.Close()
	tab := browser.Open(t)
	if err := chromedp.Do(tab, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	if text, err := chromedp.Run(tab, chromedp.Text(chromedp.CSS("#a"))); err != nil || text != "after 42" {
		t.Errorf("the text is %q: %v", text, err)
	}
	if picture, err := chromedp.Run(tab, chromedp.CaptureScreenshot()); err != nil || len(picture) < 1000 {
		t.Errorf("the picture has %d bytes: %v", len(picture), err)
	}
}
