package repository

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// Module is the path of Strata's module.
const Module = "github.com/strata-platform/strata"

// mains are the programs that Create writes, and earlier versions of them, by layer: LAYER*.go.txt.
//
//go:embed files
var files embed.FS

// Program is the program of a layer in an organisation's repository.
type Program struct {
	// Folder is the absolute path of the program's folder.
	Folder string
	// Own says why the program is the organisation's own, for example "bootstrap/main.go was changed". Empty means that it
	// is the program that strata init writes, which strata itself contains.
	Own string
}

// Program returns the program of a layer, and runs nothing.
func (r Repository) Program(layer string) (Program, error) {
	folder, err := r.Folder(layer)
	if err != nil {
		return Program{}, err
	}
	p := Program{Folder: filepath.Join(r.Root, folder)}
	if err := checkProject(p.Folder, layer); err != nil {
		return p, fmt.Errorf("layer %s: %w", layer, err)
	}
	if p.Own, err = r.ownProgram(folder, layer); err != nil {
		return p, fmt.Errorf("layer %s: %w", layer, err)
	}
	return p, nil
}

// ownProgram describes the first difference between the program in folder and the one that Create writes, or returns "". A Go
// file of a test does not count, because the go command does not compile it into the program.
func (r Repository) ownProgram(folder, layer string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.Root, folder, "main.go"))
	if errors.Is(err, fs.ErrNotExist) {
		return folder + "/main.go does not exist", nil
	}
	if err != nil {
		return "", err
	}
	written, err := fs.Glob(files, "files/"+layer+"*.go.txt")
	if err != nil {
		return "", err
	}
	same := slices.ContainsFunc(written, func(name string) bool {
		known, err := files.ReadFile(name)
		return err == nil && string(known) == string(content)
	})
	if !same {
		return folder + "/main.go was changed", nil
	}
	found, err := filepath.Glob(filepath.Join(r.Root, folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range found {
		if name := filepath.Base(file); name != "main.go" && !strings.HasSuffix(name, "_test.go") {
			return path.Join(folder, name) + " was added", nil
		}
	}
	required, err := r.requirement()
	if err != nil {
		return "", err
	}
	if required.replaced {
		return "go.mod replaces Strata's module", nil
	}
	return "", nil
}

// projectFile contains the fields of a Pulumi.yaml that decide which program runs.
type projectFile struct {
	Name    string `json:"name"`
	Main    string `json:"main"`
	Runtime any    `json:"runtime"`
}

// checkProject returns an error if Pulumi would run another program than the Go program in the folder.
func checkProject(folder, layer string) error {
	file := filepath.Join(folder, "Pulumi.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var is projectFile
	if err := yaml.Unmarshal(content, &is); err != nil {
		return fmt.Errorf("read %s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	project, err := lifecycle.ProjectOf(layer)
	if err != nil {
		return err
	}
	if is.Name != project.Name || is.Main != "" || is.Runtime != "go" {
		return fmt.Errorf("%s must have the name %s, the runtime go and no main: change the program in its folder instead", file, project.Name)
	}
	return nil
}

// requirement is the requirement of an organisation's go.mod on Strata's module.
type requirement struct {
	version  string
	replaced bool
}

// requirement reads go.mod.
func (r Repository) requirement() (requirement, error) {
	file, err := r.readGoMod()
	if err != nil {
		return requirement{}, err
	}
	var found requirement
	for _, each := range file.Require {
		if each.Mod.Path == Module {
			found.version = each.Mod.Version
		}
	}
	for _, each := range file.Replace {
		found.replaced = found.replaced || each.Old.Path == Module
	}
	if found.version == "" {
		return found, fmt.Errorf("%s does not require %s: run `go get %s`", r.goMod(), Module, Module)
	}
	return found, nil
}

func (r Repository) goMod() string { return filepath.Join(r.Root, "go.mod") }

func (r Repository) readGoMod() (*modfile.File, error) {
	content, err := os.ReadFile(r.goMod())
	if err != nil {
		return nil, err
	}
	return modfile.Parse(r.goMod(), content, nil)
}
