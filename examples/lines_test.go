package examples_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostProgramLines is the number of lines that a team writes at most for a Program with a database, a user, a password and a
// Secret with the login, and for its Stack.
const mostProgramLines = 40

// TestAProgramWithADatabaseIsShort counts the lines of the first example that make these four resources, without comments. What
// the example adds is the address of the database: the variable server, the values that name it, and the port.
func TestAProgramWithADatabaseIsShort(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("wordpress", "app-infra.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	address := false // in the block variables, which ends with resources
	for line := range strings.Lines(string(content)) {
		word := strings.TrimSpace(line)
		address = word == "variables:" || address && word != "resources:"
		if !address && word != "" && !strings.HasPrefix(word, "#") && !strings.Contains(word, "${server.") && !strings.HasPrefix(word, "port:") {
			written = append(written, line)
		}
	}
	text := strings.Join(written, "")
	for _, want := range []string{"gcp:sql:Database", "gcp:sql:User", "random:RandomPassword", "kubernetes:core/v1:Secret", "kind: Program", "kind: Stack"} {
		if !slices.ContainsFunc(written, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("the lines contain no %s", want)
		}
	}
	if len(written) > mostProgramLines {
		t.Errorf("a team writes %d lines, want at most %d:\n%s", len(written), mostProgramLines, text)
	}
}
