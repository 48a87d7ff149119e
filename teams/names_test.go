package teams_test

import (
	"path"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/teams"
)

// FuzzNames looks for a name in teams.yaml that passes the checks, but has another meaning as a namespace, a Google
// account, a database, a branch, a path or an argument.
func FuzzNames(f *testing.F) {
	f.Add("web", "main", "./", "https://git.example.com/shared.git", "infra")
	f.Add("web_hr", "--upload-pack", "../x", "ssh://-oProxyCommand=id/x", "default")
	f.Add("web\n", "a\x00b", "a/../../b", "https://u:p@host/x", "web")
	f.Add("w\u0435b", "refs/heads/*", "a\nb", "https://host/*", "infra/../x")
	f.Add(strings.Repeat("a", 26), "a..b", `..\x`, "file:///etc", "-")
	f.Add("mysql", "a b", "/etc", "ext::sh -c id", "engineer")
	f.Fuzz(func(t *testing.T, name, branch, folder, source, account string) {
		content, err := yaml.Marshal(teams.File{APIVersion: teams.APIVersion, Kind: teams.Kind, Teams: []teams.Team{{
			Name: name, Branch: branch, Path: folder, Sources: []string{source}, Accounts: []teams.Account{{Name: account, May: []string{teams.MayStacks}}},
		}}})
		if err != nil {
			t.Skip(err)
		}
		file, err := teams.Decode(content)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has more than a line: %q", err)
			}
			return
		}
		team := file.Teams[0]
		for _, label := range []string{team.Name, team.Namespace(), team.ServiceAccount(), team.GoogleAccountID(), team.Accounts[0].Name} {
			if faults := validation.IsDNS1123Label(label); len(faults) > 0 || strings.Contains(label, "_") {
				t.Errorf("%q passes as a name: %v", label, faults)
			}
		}
		if len(team.GoogleAccountID()) > 30 {
			t.Errorf("%q passes, too long for an account of Google", team.Name)
		}
		for _, argument := range []string{team.Branch, team.Sources[0]} {
			if strings.HasPrefix(argument, "-") || strings.ContainsAny(argument, " \x00\r\n\t") || strings.Contains(argument, "://-") {
				t.Errorf("%q passes as an argument", argument)
			}
		}
		if below := path.Join("root", team.Path); below != "root" && !strings.HasPrefix(below, "root/") || strings.ContainsAny(team.Path, "\x00\n\\") {
			t.Errorf("%q passes as a folder of a repository", team.Path)
		}
	})
}
