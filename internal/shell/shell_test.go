package shell_test

import (
	"os/exec"
	"testing"

	"github.com/strata-platform/strata/internal/shell"
)

func TestAShellReadsAQuotedWordUnchanged(t *testing.T) {
	for _, word := range []string{
		"", "/home/ada/strata", "a b", "it's", `"$HOME"`, "`id`", "*", "~", "a;b", "\\", "line\nbreak", "#", "!x", "é", "a=b", "-n", "%s",
	} {
		for name, write := range map[string]func(string) string{"Quote": shell.Quote, "Word": shell.Word} {
			out, err := exec.Command("sh", "-c", "printf '%s' "+write(word)).CombinedOutput()
			if err != nil || string(out) != word {
				t.Errorf("%s(%q) is %s, which a shell reads as %q (%v)", name, word, write(word), out, err)
			}
		}
	}
}

func TestAPlainWordStaysReadable(t *testing.T) {
	for _, word := range []string{"/home/ada/strata/.strata/kubernetes/admin.kubeconfig", "--file=x", "bin/strata"} {
		if shell.Word(word) != word {
			t.Errorf("%s is written %s", word, shell.Word(word))
		}
	}
}
