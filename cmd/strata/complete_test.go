package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// withoutCompletion are the arguments and flags whose values a shell cannot know.
var withoutCompletion = map[string]string{
	"strata image push": "a file or a reference", "strata image pull": "a reference of another registry", "strata image load": "a file",
}

func TestEveryArgumentAndFlagIsCompleted(t *testing.T) {
	began := false
	for _, command := range visible(newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, &began)) {
		path := command.CommandPath()
		takes := strings.Contains(strings.TrimSuffix(command.Use, " [command]"), " ")
		if takes && command.ValidArgsFunction == nil && len(command.ValidArgs) == 0 && withoutCompletion[path] == "" {
			t.Errorf("%s: set ValidArgsFunction, or name the reason in withoutCompletion", path)
		}
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if _, is := command.GetFlagCompletionFunc(flag.Name); !is && flag.Value.Type() != "bool" {
				t.Errorf("%s: --%s has no completion of its values (package complete)", path, flag.Name)
			}
		})
	}
}

// completions returns what the completion of a command line prints, without descriptions and the directive.
func completions(t *testing.T, args ...string) []string {
	t.Helper()
	code, out, _ := call(t, append([]string{"__complete"}, args...)...)
	if code != exitDone {
		t.Fatalf("%s: code %d", args, code)
	}
	var found []string
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		if name, _, _ := strings.Cut(line, "\t"); !strings.HasPrefix(name, ":") {
			found = append(found, name)
		}
	}
	return found
}

func TestCompletions(t *testing.T) {
	newClone(t)
	write(t, "teams.yaml", oneTeam+"  - name: shop\n")
	for line, want := range map[string]string{
		"team remove ":                "shop web",
		"team remove s":               "shop",
		"team remove shop ":           "",
		"kubeconfig --team ":          "shop web",
		"image pull --team w":         "web",
		"open --team ":                "shop web",
		"layer up ":                   "bootstrap platform",
		"env ":                        "bootstrap platform",
		"status -o ":                  "text json yaml",
		"up --target ":                "local gke",
		"up --operator ":              "embedded upstream",
		"up --env ":                   "",
		"toolchain build kube-api":    "kube-apiserver",
		"toolchain build etcd et":     "",
		"completion ":                 "bash zsh fish",
		"logs ":                       "",
		"open ":                       "",
		"image remove ":               "",
		"team add --quota ":           "cpu= memory= memoryLimit= pods= storage= volumes=",
		"layer destroy platform boot": "",
	} {
		t.Run(line, func(t *testing.T) {
			args := strings.Split(line, " ")
			if got := completions(t, args...); !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if _, err := os.Stat(os.Getenv(home.Variable)); !os.IsNotExist(err) {
		t.Errorf("completing has created the home: %v", err)
	}
}

// TestAHostileNameIsNotCompleted has logs whose names are commands for a shell that evaluates completions, or sequences for a
// terminal.
func TestAHostileNameIsNotCompleted(t *testing.T) {
	_, dir := newClone(t)
	h := opened(t, dir)
	for _, name := range []string{"etcd", "$(touch owned)", "`touch owned`", "a;touch owned", "-o", "a b", "\x1b[2J", "\u202e", "pods/team-web_a_b"} {
		path := h.Log(filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, "")
	}
	if got := completions(t, "logs", ""); !slices.Equal(got, []string{"etcd", "pods/team-web_a_b"}) {
		t.Errorf("got %q", got)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	code, script, _ := call(t, "completion", "bash")
	if code != exitDone {
		t.Fatalf("code %d", code)
	}
	write(t, "script.bash", script)
	if err := os.Symlink(os.Args[0], "strata"); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", `source ./script.bash
_get_comp_words_by_ref() { words=(./strata logs ""); cword=2; cur=""; prev=logs; }
compopt() { :; }
COMP_TYPE=9
__start_strata
printf '%s\n' "${COMPREPLY[@]}"`)
	command.Env = append(os.Environ(), mainVariable+"=1")
	out, err := command.CombinedOutput()
	if err != nil || strings.Join(strings.Fields(string(out)), " ") != "etcd pods/team-web_a_b" {
		t.Errorf("bash completes %q (%v)", out, err)
	}
	if _, err := os.Stat("owned"); !os.IsNotExist(err) {
		t.Error("the shell has run a command from a name")
	}
}
