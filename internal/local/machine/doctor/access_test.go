package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOldGoIsNoReasonToPrune(t *testing.T) {
	f := good()
	f.Go, f.Leftover = "go1.25.9", 2e9
	for _, finding := range Check(f).Findings {
		if strings.Contains(finding.Remedy, "prune") {
			t.Errorf("with an old Go doctor says: %+v", finding)
		}
	}
}

func TestHomesWithTheSameTeamsAreFound(t *testing.T) {
	proc := t.TempDir()
	for pid, line := range map[string]string{
		"1": "init",
		"2": "strata supervisor --home /a --repository /clone",
		"3": "strata supervisor --home /b --repository /clone",
		"4": "strata supervisor --home /c --repository /other",
		"5": "vi supervisor --home",
		"6": "sh -c supervisor --home /d --repository /clone",
	} {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(strings.ReplaceAll(line, " ", "\x00")+"\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for home, want := range map[string]string{"/a": "[/b]", "/b": "[/a]", "/c": "[]", "/stopped": "[]"} {
		if got := fmt.Sprint(sharing(proc, home)); got != want {
			t.Errorf("%s shares its teams with %s, want %s", home, got, want)
		}
	}
}

func TestAFolderOfAnotherUserIsDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := denied(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := denied(filepath.Join(dir, "a", "b")); err == nil || !strings.Contains(err.Error(), "this user cannot write to "+dir) {
		t.Errorf("the error is %v", err)
	}
}
