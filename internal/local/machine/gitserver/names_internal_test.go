package gitserver

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
)

// FuzzAccess looks for a request of a team's reader, or of another team, that the server accepts and that reaches
// another repository or writes.
func FuzzAccess(f *testing.F) {
	f.Add("web", "/web.git/info/refs", "service=git-upload-pack")
	f.Add("web-reader", "/web.git/info/refs", "service=git-upload-pack&service=git-receive-pack")
	f.Add("web-reader", "/web.git/git-receive-pack", "")
	f.Add("web", "/../hr.git/info/refs", "")
	f.Add("web", "/web.git/../hr.git/info/refs", "")
	f.Add("web", "/web.git/objects/../../hr.git/HEAD", "")
	f.Add("web", "//hr.git/info/refs", "")
	f.Add("web\x00hr", "/hr.git/HEAD", "")
	f.Add("", "/.git/HEAD", "")
	f.Fuzz(func(t *testing.T, account, target, query string) {
		r := &http.Request{URL: &url.URL{Path: target, RawQuery: query}}
		repository, writes, ok := asked(r)
		if !ok || account == Engineer || !allowed(account, repository, writes) {
			return
		}
		if account != repository && account != Reader(repository) {
			t.Errorf("%q may use %q", account, repository)
		}
		if cleaned := path.Clean(target); cleaned != "/"+repository+".git" && !strings.HasPrefix(cleaned, "/"+repository+".git/") {
			t.Errorf("%q leads to %q, and is allowed for %q", target, cleaned, repository)
		}
		if account == Reader(repository) && (strings.HasSuffix(target, "/git-receive-pack") || strings.HasSuffix("&"+query, "&service=git-receive-pack")) {
			t.Errorf("a reader may write: %s?%s", target, query)
		}
	})
}
