// Package importable turns the source of a program into a package that other programs can link.
package importable

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	packageMain = regexp.MustCompile(`(?m)^package main$`)
	funcMain    = regexp.MustCompile(`(?m)^func main\(\) \{$`)
)

// Make turns the main package in a folder into the package program, whose function Main is the program. The
// go command compiles no import of a main package.
func Make(dir string) error {
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	found := false
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		found = found || funcMain.Match(content)
		content = packageMain.ReplaceAll(content, []byte("package program"))
		if err := os.WriteFile(source, funcMain.ReplaceAll(content, []byte("func Main() {")), 0o644); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("the module's root folder contains no func main: find the new place of its program")
	}
	return nil
}
