package check_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/strata-platform/strata/internal/check/teamfile"
)

// TestHostileRepositoriesAreRefused checks repositories whose build would fetch, run or read what it must not, or would
// never end. Each gets a finding.
func TestHostileRepositoriesAreRefused(t *testing.T) {
	var fetched atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer server.Close()
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	const canary = "canary-4711"
	if err := os.WriteFile(secret, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+canary+"}\nunknown: "+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	bomb := "a0: &a0 [x, x]\n"
	for i := range 40 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	many := map[string]string{"kustomization.yaml": "resources: [app.yaml]\n", "app.yaml": ""}
	for i := range 600 {
		many["app.yaml"] += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	crowd := map[string]string{}
	for i := range 1100 {
		crowd[fmt.Sprintf("c%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	for name, files := range map[string]map[string]string{
		"a link to a file outside":   {"kustomization.yaml": lists, "app.yaml": "-> " + secret},
		"a link to a folder outside": {"kustomization.yaml": "resources: [all/secret.yaml]\n", "all": "-> " + filepath.Dir(secret)},
		"a remote file":              {"kustomization.yaml": "resources: ['" + server.URL + "/app.yaml']\n"},
		"a remote base":              {"kustomization.yaml": "resources: ['github.com/example/app?ref=v1']\n"},
		"a chart":                    {"kustomization.yaml": "helmCharts: [{name: a, repo: '" + server.URL + "'}]\n"},
		"a plugin":                   {"kustomization.yaml": "generators: [p.yaml]\n", "p.yaml": "apiVersion: x/v1\nkind: P\nmetadata: {name: p, annotations: {config.kubernetes.io/function: 'exec: {path: ./run.sh}'}}\n", "run.sh": "touch " + ran},
		"aliases without end":        {"kustomization.yaml": lists, "app.yaml": bomb},
		"a huge file":                {"kustomization.yaml": lists, "app.yaml": strings.Repeat("a: b\n", 1<<19)},
		"too many objects":           many,
		"too many files of a build":  crowd,
	} {
		t.Run(name, func(t *testing.T) {
			files[teamfile.Folder+"/"+teamfile.Name] = web
			result := run(t, repository(t, files))
			if len(result.Findings) == 0 {
				t.Error("no findings")
			}
			for _, each := range result.Findings {
				if files[each.File] == "" && each.File != "./" {
					t.Errorf("the finding is in %q, which the repository does not have", each.File)
				}
				if strings.Contains(each.Message, canary) || strings.ContainsAny(each.Message, "\n\r") {
					t.Errorf("the finding is %q", each.Message)
				}
			}
		})
	}
	if fetched.Load() > 0 {
		t.Errorf("%d requests reached the server", fetched.Load())
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of a repository ran")
	}
}

// TestManyFilesThatNoBuildReadsAreOneFindingEach checks a repository of 10,000 files.
func TestManyFilesAreChecked(t *testing.T) {
	files := map[string]string{"kustomization.yaml": lists, "app.yaml": pet, teamfile.Folder + "/" + teamfile.Name: web}
	for i := range 10_000 {
		files[fmt.Sprintf("docs/%d/%d.md", i/100, i)] = "text"
	}
	if result := run(t, repository(t, files)); len(result.Findings) > 0 {
		t.Errorf("got %+v", result.Findings)
	}
}
