package teams_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/teams"
)

func TestNotifyOfATeam(t *testing.T) {
	at := func(address string) string { return "{provider: github, repository: '" + address + "'}" }
	for name, test := range map[string]struct{ notify, says string }{
		"the team's own repository": {"{provider: gitlab}", ""},
		"a repository":              {at("https://github.com/example/shop"), ""},
		"a port":                    {"{provider: gitea, repository: 'https://git.example.com:8443/example/shop.git'}", ""},
		"groups in groups":          {"{provider: gitlab, repository: 'https://gitlab.com/a/b/c'}", ""},
		"no provider":               {"{}", `.notify.provider "" must be github, gitlab or gitea`},
		"another forge":             {"{provider: slack}", `.notify.provider "slack" must be`},
		"HTTP":                      {at("http://github.com/example/shop"), ".notify.repository is not the address"},
		"ssh":                       {at("ssh://git@github.com/example/shop"), ".notify.repository is not the address"},
		"a login":                   {at("https://canary:canary@github.com/example/shop"), "contains a login: give the token in the setting notifyTokens"},
		"a query":                   {at("https://github.com/example/shop?a=b"), ".notify.repository is not the address"},
		"no owner":                  {at("https://github.com/shop"), "has no owner and name"},
		"another path":              {at("https://github.com/../shop"), "has no owner and name"},
		"an escaped path":           {at("https://github.com/example%2Fother/shop"), ".notify.repository is not the address"},
		"dots in a name":            {at("https://github.com/example/a..b"), "has no owner and name"},
		"groups at GitHub":          {at("https://github.com/a/b/c"), "must have one owner and a name"},
		"a token":                   {"{provider: github, token: canary}", "token"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := teams.Decode([]byte(header + "teams:\n- name: web\n  notify: " + test.notify + "\n"))
			if test.says == "" {
				if err != nil || file.Teams[0].Notify == nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "canary") {
				t.Errorf("the error is %v, want one line with %q", err, test.says)
			}
		})
	}
}
