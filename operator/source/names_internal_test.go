package source

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// FuzzGit looks for an accepted address, branch or commit that would be an option, a file of this machine, or something else
// to git or ssh.
func FuzzGit(f *testing.F) {
	for _, address := range []string{
		"https://git.example.com/web.git", "git@git.example.com:web.git", "ssh://-oProxyCommand=id/x", "-oProxyCommand@host:x", "--upload-pack=id",
		"ext::sh -c id", "file:///etc", "https://a%0ahost=evil:x@host/x", "https://host/%2e%2e/x", "https://host\\@other/x", "HTTPS://host/x",
	} {
		f.Add(address, "main", "")
	}
	f.Add("https://host/x", "--upload-pack=id", "")
	f.Add("https://host/x", "refs/heads/*", "")
	f.Add("https://host/x", "a:b", "")
	f.Add("https://host/x", "a..b", "")
	f.Add("https://host/x", "a\nb", "")
	f.Add("https://host/x", "", "0123456789abcdef0123456789abcdef01234567")
	f.Add("https://host/x", "", "0123456789abcdef0123456789abcdef01234567\n")
	f.Fuzz(func(t *testing.T, address, branch, commit string) {
		g := Git{URL: address, Branch: branch, Commit: commit}
		if g.validate() != nil {
			return
		}
		parsed, err := g.address()
		if err != nil {
			t.Fatalf("%q passes, and has no address: %v", address, err)
		}
		remote := parsed.String()
		again, err := url.Parse(remote)
		if err != nil || again.Host != parsed.Host || again.Path != parsed.Path {
			t.Errorf("%q means something else when it is read again: %q (%v)", address, remote, err)
		}
		if host := parsed.Hostname(); host == "" || host[0] == '-' || strings.HasPrefix(parsed.User.Username(), "-") {
			t.Errorf("%q passes, whose host %q or user is an option", address, host)
		}
		if scheme, _, _ := strings.Cut(remote, "://"); scheme != "https" && scheme != "http" && scheme != "ssh" {
			t.Errorf("%q passes, of scheme %q", address, scheme)
		}
		wanted := []string{remote, g.ref()}
		if commit != "" {
			wanted = []string{remote, commit}
		}
		for _, argument := range wanted {
			if argument == "" || argument[0] == '-' || len(argument) > 3*maxAddress || strings.ContainsFunc(argument, unicode.IsControl) {
				t.Errorf("%q passes as an argument", argument)
			}
		}
		if commit == "" && strings.ContainsAny(branch, ":*?[\\ ^~") || strings.Contains(wanted[1], "..") {
			t.Errorf("%q passes as the name of a branch", branch)
		}
	})
}
