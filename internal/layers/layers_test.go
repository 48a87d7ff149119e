package layers

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

func TestSummary(t *testing.T) {
	for want, changes := range map[string]map[string]int{
		"nothing to do":                      nil,
		"13 unchanged":                       {"same": 13},
		"2 created, 1 deleted, 40 unchanged": {"create": 2, "delete": 1, "same": 40},
		"1 updated, 1 replaced":              {"update": 1, "replace": 1, "create": 0},
	} {
		if got := (Summary{Changes: changes}).String(); got != want {
			t.Errorf("%v is %q, want %q", changes, got, want)
		}
	}
}

func TestARunnerKeepsItsOwnEnvironment(t *testing.T) {
	shared := Runner{Env: map[string]string{"PULUMI_STACK": "dev", "HOME": "/home/ada"}}
	held := shared.With(map[string]string{"HOME": "/home/ada/layer", "TMPDIR": "/tmp/layer"})
	want := map[string]string{"PULUMI_STACK": "dev", "HOME": "/home/ada/layer", "TMPDIR": "/tmp/layer"}
	if !maps.Equal(held.Env, want) {
		t.Errorf("the new environment is %v, want %v", held.Env, want)
	}
	if want := map[string]string{"PULUMI_STACK": "dev", "HOME": "/home/ada"}; !maps.Equal(shared.Env, want) {
		t.Errorf("its own environment is %v, want %v", shared.Env, want)
	}
	if held := (Runner{}).With(map[string]string{"A": "b"}); held.Env["A"] != "b" {
		t.Errorf("without any environment of its own, the new one is %v", held.Env)
	}
}

func TestARunLeavesNoTemporaryFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layer", "tmp")
	private, remove, err := Runner{}.WithTemp(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(private.Env["TMPDIR"])
	if err != nil || private.Env["TMPDIR"] != dir || info.Mode().Perm() != 0o700 {
		t.Fatalf("the folder is %s: %v, %v", private.Env["TMPDIR"], info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the run, the folder is there: %v", err)
	}
}

func TestDiagnostic(t *testing.T) {
	for name, tc := range map[string]struct {
		event apitype.DiagnosticEvent
		want  string
	}{
		"names the resource": {
			apitype.DiagnosticEvent{
				URN:     "urn:pulumi:dev::strata-bootstrap::strata:index:Cluster$gcp:container/cluster:Cluster::cluster",
				Message: "<{%fg 1%}>googleapi: Error 403:\n\n Required \"container.clusters.create\"<{%reset%}>\n",
			},
			`gcp:container/cluster:Cluster cluster: googleapi: Error 403: Required "container.clusters.create"`,
		},
		"drops an empty message": {apitype.DiagnosticEvent{Message: "<{%reset%}>update failed<{%reset%}>\n"}, ""},
		"leaves a program's error as it is": {
			apitype.DiagnosticEvent{Message: "an unhandled error occurred:\n1 error occurred:\n\t* read teams.yaml: line 3: no name\n\n"},
			"read teams.yaml: line 3: no name",
		},
		"keeps a message without a URN": {apitype.DiagnosticEvent{Message: "no such stack"}, "no such stack"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diagnostic(&tc.event); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBrief(t *testing.T) {
	err := errors.New("failed to run update: exit status 255\ncode: 255\nstdout: pages\nof output\nstderr: warning: x\nerror: could not decrypt:\n  wrong passphrase\n") //nolint:revive // as the Automation API writes it
	if got := brief(err).Error(); got != "could not decrypt: wrong passphrase" {
		t.Errorf("got %q", got)
	}
}

func TestAnErrorIsOneLineWithLayerResourceCauseAndWhatToDo(t *testing.T) {
	r := Runner{Stack: "dev", WorkDir: func(layer string) string { return "/home/" + layer }}
	event := apitype.DiagnosticEvent{URN: "urn:pulumi:dev::p::gcp:container/cluster:Cluster::cluster", Message: "Error 403:\n no right"}
	got := r.wrap("run", Layer{Name: "bootstrap"}, errors.New("code: 255\nstdout: pages"), []string{diagnostic(&event)}).Error()
	want := "run layer bootstrap, stack dev: gcp:container/cluster:Cluster cluster: Error 403: no right: " +
		"fix the cause and run it again: it continues where it stopped (pulumi's own output: /home/bootstrap/pulumi.log)"
	if got != want {
		t.Errorf("got %q", got)
	}
}
