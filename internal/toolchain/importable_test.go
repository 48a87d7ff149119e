package toolchain

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTwoNamesAreOneProgramThatLinksTheProgramOfAModule(t *testing.T) {
	root, _ := rootOfUpstream(t)
	dir := filepath.Join(root, "tools", "tiny")
	write(t, filepath.Join(dir, "_both", "main.go"), `package main

import (
	"os"
	"path/filepath"

	"example.com/upstream"
)

func main() {
	println(filepath.Base(os.Args[0]))
	program.Main()
}
`)
	tools := []tool{
		{name: "one", pkg: "./_both", pin: upstream, mains: []string{upstream}},
		{name: "two", pkg: "./_both", pin: upstream, mains: []string{upstream}},
	}
	opened, err := open(root, t.TempDir(), []bundle{{name: "tiny", module: "tiny", tools: tools}})
	if err != nil {
		t.Fatal(err)
	}
	var how []Progress
	for _, name := range []string{"one", "two"} {
		if err := opened.Ensure(t.Context(), func(e Event) {
			if e.Progress == Built || e.Progress == Linked {
				how = append(how, e.Progress)
			}
		}, name); err != nil {
			t.Fatal(err)
		}
		path, err := opened.Path(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(path).CombinedOutput()
		if got, want := strings.TrimSpace(string(out)), name+"\nhello from upstream's program"; err != nil || got != want {
			t.Errorf("it says %q, %v, want %q", got, err, want)
		}
	}
	if len(how) != 2 || how[0] != Built || how[1] != Linked {
		t.Errorf("the names are %v, want %v and %v", how, Built, Linked)
	}
}
