package home

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAPrintedCallReachesItsHomeFromAnyShell(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\nprintf '%s|%s' \"$STRATA_HOME\" \"$*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"plain": "second", "with a blank and quotes": `it's "a" $HOME`} {
		t.Run(name, func(t *testing.T) {
			h, err := At(filepath.Join(t.TempDir(), folder))
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv(Variable, h.Dir())
			line := h.Call("down --purge --yes")
			paste := exec.Command("sh", "-c", line)
			paste.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
			got, err := paste.CombinedOutput()
			if want := h.Dir() + "|down --purge --yes"; err != nil || string(got) != want {
				t.Errorf("%s reaches %q (%v), want %q", line, got, err, want)
			}
		})
	}
}

func TestACallForTheHomeOfTheCloneNamesNoHome(t *testing.T) {
	t.Setenv(Variable, "")
	h, err := At(filepath.Join(t.TempDir(), ".strata"))
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Call("up"); got != "strata up" {
		t.Errorf("the call is %q", got)
	}
}

func TestACallIsWrittenAsItWasCalled(t *testing.T) {
	bin := t.TempDir()
	path := filepath.Join(bin, program)
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	t.Setenv(Variable, "")
	for _, c := range []struct{ name, called, path, want string }{
		{"by its name", program, "/nowhere", "strata up"},
		{"by a path in the clone", "bin/strata", bin, "bin/strata up"},
		{"by a path that the shell knows", path, bin, "strata up"},
		{"by a path that the shell does not know", path, "/nowhere", path + " up"},
		{"by a path with a blank", "my bin/strata", "/nowhere", "'my bin/strata' up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.Args = []string{c.called}
			t.Setenv("PATH", c.path)
			if got := Call("/home", "up"); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
