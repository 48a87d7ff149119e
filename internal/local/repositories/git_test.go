package repositories

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

func TestCloneCommandHoldsNoPassword(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := Repositories{Home: h, URL: "http://127.0.0.1:4712"}
	password, err := r.Password("web")
	if err != nil {
		t.Fatal(err)
	}
	command := r.CloneCommand("web", "web")
	if strings.Contains(command, password) {
		t.Errorf("%q shows the password", command)
	}
	if !strings.HasSuffix(command, " http://web@127.0.0.1:4712/web.git") || !strings.Contains(command, h.GitCredentials()) {
		t.Errorf("%q does not clone", command)
	}
}

func TestCloneArgumentsTakeAFolderForNoFlag(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args := Repositories{Home: h, URL: "http://127.0.0.1:4712"}.CloneArguments("web", "web", "--upload-pack=x")
	if want := []string{"--", "http://web@127.0.0.1:4712/web.git", "--upload-pack=x"}; !slices.Equal(args[3:], want) {
		t.Errorf("the arguments end with %q, want %q", args[3:], want)
	}
}

func TestPrintedCommandsWorkForAnyNameOfAHome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `it's a "home"`)
	h, err := home.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Two shells parse the output: the user's, and the one to which Git passes the helper.
	words := func(line string) []string {
		t.Helper()
		out, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	clone := words(Repositories{Home: h, URL: "http://127.0.0.1:4712"}.CloneCommand("web", "web"))
	if len(clone) != 5 {
		t.Fatalf("the clone is %q", clone)
	}
	helper := words(strings.TrimPrefix(clone[3], "credential.helper="))
	if want := "--file=" + h.GitCredentials(); !slices.Equal(helper, []string{"store", want}) {
		t.Errorf("Git's helper is %q, want %q", helper, want)
	}
}
