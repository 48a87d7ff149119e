package conformancecmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/test/conformance"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedConformance(t *testing.T) {
	docstest.CheckJSON[Result](t, "docs/reference/output.md", "conformance")
}

var (
	passed  = conformance.Result{Statement: conformance.Statement{Name: "outputs", Contract: conformance.Shared, Must: "Outputs exist."}, Outcome: conformance.Passed, Seen: "a=1"}
	failed  = conformance.Result{Statement: conformance.Statement{Name: "destroyed", Contract: conformance.Own, Must: "It is gone."}, Outcome: conformance.Failed, Seen: "it\x1b[2J exists"}
	skipped = conformance.Result{Statement: conformance.Statement{Name: "kept", Contract: conformance.Shared, Must: "It stays."}, Outcome: conformance.Skipped, Seen: "destroyed failed"}
)

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, []conformance.Result{passed, failed, skipped}); err != nil {
		t.Fatal(err)
	}
	const want = `✓ shared  outputs                    Outputs exist.
✗ strata  destroyed                  It is gone.
    seen: it\x1b[2J exists
- shared  kept                       It stays.
    skipped: destroyed failed
1 passed, 1 failed, 1 skipped
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestOnlyPassedChecksConform(t *testing.T) {
	for want, results := range map[string][]conformance.Result{
		"":                        {passed, skipped},
		"1 of 2 checks failed":    {passed, failed},
		"none of 1 checks passed": {skipped},
	} {
		if err := verdict(results); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("verdict %v, want %q", err, want)
		}
	}
}

// platform is a platform with teams.
type platform struct {
	cli.Call
	namespaces []string
}

func (p platform) Namespaces(context.Context, string) (*rest.Config, []string, error) {
	return &rest.Config{Host: "https://platform"}, p.namespaces, nil
}

func TestTheNamespaceIsThatOfTheOnlyTeamOrOfTheKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	const content = `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://elsewhere"}}], contexts: [{name: c, context: {cluster: c, namespace: own}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	usage := errors.New("usage")
	for name, test := range map[string]struct {
		flags      flags
		teams      []string
		host, want string
		usage      bool
	}{
		"the only team":                  {teams: []string{"team-web"}, host: "https://platform", want: "team-web"},
		"several teams":                  {teams: []string{"team-web", "team-shop"}, usage: true},
		"no team":                        {usage: true},
		"a chosen namespace":             {flags: flags{options: conformance.Options{Namespace: "x"}}, teams: []string{"a", "b"}, host: "https://platform", want: "x"},
		"the kubeconfig's namespace":     {flags: flags{kubeconfig: file}, teams: []string{"team-web"}, host: "https://elsewhere", want: "own"},
		"another one of that kubeconfig": {flags: flags{kubeconfig: file, options: conformance.Options{Namespace: "x"}}, host: "https://elsewhere", want: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.flags
			err := f.resolve(t.Context(), platform{namespaces: test.teams}, func(error) error { return usage })
			if test.usage {
				if !errors.Is(err, usage) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || f.options.Namespace != test.want || f.options.Config.Host != test.host {
				t.Errorf("namespace %q of %v, error %v", f.options.Namespace, f.options.Config, err)
			}
		})
	}
	f := flags{kubeconfig: file + "x"}
	if err := f.resolve(t.Context(), platform{}, nil); err == nil || !strings.HasPrefix(err.Error(), "read the kubeconfig "+file+"x: ") {
		t.Errorf("the error is %v", err)
	}
}
