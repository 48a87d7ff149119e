package wordpress_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
)

func TestMain(m *testing.M) {
	sandboxes.Main()
	m.Run()
}

func TestScratch(t *testing.T) {
	p := start(t, startDatabase(t))
	at := p.forward(t)
	began := time.Now()
	p.run(t)
	p.wait(t, at)
	t.Log("first page after", time.Since(began))
	jar, _ := cookiejar.New(nil)
	c := &http.Client{Jar: jar}
	post := func(path string, form url.Values) {
		began := time.Now()
		r, err := c.PostForm(at+path, form)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		t.Log(path, r.Status, r.Request.URL, time.Since(began), len(b))
		if len(b) > 3000 { b = b[:3000] }
		t.Log(string(b))
	}
	post("/wp-admin/install.php?step=2", url.Values{"weblog_title": {"Strata"}, "user_name": {"admin"}, "admin_password": {"correct horse battery"}, "admin_password2": {"correct horse battery"}, "admin_email": {"a@example.com"}, "blog_public": {"0"}, "language": {""}})
	post("/wp-login.php", url.Values{"log": {"admin"}, "pwd": {"correct horse battery"}, "redirect_to": {at+"/wp-admin/"}, "testcookie": {"1"}})
	t.Log(p.log.String())
}
