// Package kept writes the files that a team's repository keeps for editors and for the team's own checks, and finds those that
// are out of date.
package kept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/strata-platform/strata/internal/check/admission"
	"github.com/strata-platform/strata/internal/check/editor"
	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// These are the files of a repository: the JSON Schema of the team's objects, and the team's entry of teams.yaml.
const (
	schemaName = "schema.json"
	SchemaFile = teamfile.Folder + "/" + schemaName
	EntryFile  = teamfile.Folder + "/" + teamfile.Name
)

// Modeline is the first line of a YAML file in the root of a repository, from which yaml-language-server reads where the
// schema is.
const Modeline = "# yaml-language-server: $schema=" + SchemaFile + "\n"

// maxKept bounds the size of a kept file in bytes. A larger one counts as missing.
const maxKept = 2 * editor.Most

// Schema returns the JSON Schema of a team. folders have the schemas of Pulumi's packages, in files NAME-VERSION.json; complete
// is false if there are none: the resource types then have any properties.
func Schema(limits platform.Limits, folders ...string) (content []byte, complete bool, err error) {
	of := editor.Team{Names: texts(limits.Policy["typeNames"]), Prefixes: texts(limits.Policy["typePrefixes"])}
	if of.Definitions, err = admission.Definitions(limits.Entries); err != nil {
		return nil, false, err
	}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			return nil, false, err
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, false, fmt.Errorf("read the schema of a package: %w", err)
			}
			pkg, err := editor.ReadPackage(content)
			if err != nil {
				return nil, false, fmt.Errorf("%s: %w", name, err)
			}
			of.Packages = append(of.Packages, pkg)
		}
	}
	content, err = editor.Schema(of)
	return content, len(of.Packages) > 0, err
}

// texts returns a list of a TenantPolicy.
func texts(list any) []string {
	values, _ := list.([]any)
	all := make([]string, 0, len(values))
	for _, each := range values {
		if text, ok := each.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// Files returns the files for a team's repository: its entry of the list in a file, and its schema. The keys are paths in the
// repository. complete is that of [Schema].
func Files(list, team string, folders ...string) (files map[string][]byte, complete bool, err error) {
	name, limits, err := teamfile.Load(teamfile.Source{File: list, Team: team})
	if err != nil {
		return nil, false, err
	}
	all, err := teams.Load(list)
	if err != nil {
		return nil, false, err
	}
	entry, err := teamfile.Content(all, name)
	if err != nil {
		return nil, false, err
	}
	schema, complete, err := Schema(limits, folders...)
	if err != nil {
		return nil, false, err
	}
	return map[string][]byte{EntryFile: append(entry, '\n'), SchemaFile: append(schema, '\n')}, complete, nil
}

// Write writes the files into a clone. It never follows a link: whoever wrote the repository must not choose which file
// changes.
func Write(clone string, files map[string][]byte) error {
	root, err := os.OpenRoot(clone)
	if err != nil {
		return fmt.Errorf("open the clone: %w", err)
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(root, name, files[name]); err != nil {
			return fmt.Errorf("write %s in %s: %w", name, clone, err)
		}
	}
	return nil
}

func write(root *os.Root, name string, content []byte) error {
	folder := path.Dir(name)
	if err := root.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a link or a file: remove it", folder)
	}
	// A rename replaces a link, and leaves the old file if this process ends first.
	part := name + ".part"
	if err := root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}

// Outdated returns a note for each kept file of a repository that is out of date. It compares the entry of the team with that
// in list, if list is not empty, and the schema with limits. A repository without the files has no notes.
func Outdated(repository string, limits platform.Limits, list, team string, folders ...string) []string {
	var notes []string
	if entry := teamfile.Kept(repository, teamfile.Name, maxKept); entry != nil && list != "" && !sameEntry(entry, list, team) {
		notes = append(notes, fmt.Sprintf("%s is not the entry of team %s in %s: run `strata schema --team %[2]s --teams %[3]s --write %[4]s`, and commit the files",
			EntryFile, team, list, repository))
	}
	kept := teamfile.Kept(repository, schemaName, maxKept)
	if kept == nil || team == "" {
		return notes
	}
	made, complete, err := Schema(limits, folders...)
	// Without the schemas of the packages there is nothing to compare with.
	if err == nil && complete && !covers(kept, made) {
		notes = append(notes, SchemaFile+" is out of date, so editors show other types than this check: run `strata schema --write .` there, and commit the file")
	}
	return notes
}

// sameEntry reports whether a kept entry has the content of the entry of a list.
func sameEntry(kept []byte, list, team string) bool {
	all, err := teams.Load(list)
	if err != nil {
		return true // The check reports a list that it cannot read.
	}
	entry, err := teamfile.Content(all, team)
	return err != nil || bytes.Equal(compact(kept), compact(entry))
}

// covers reports whether a kept schema contains each definition of another one. It may have more: only the platform's
// repository contains the platform's own entries of the catalogue.
func covers(kept, made []byte) bool {
	var before, after struct {
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if json.Unmarshal(kept, &before) != nil || json.Unmarshal(made, &after) != nil {
		return false
	}
	for name, definition := range after.Definitions {
		if !bytes.Equal(compact(before.Definitions[name]), compact(definition)) {
			return false
		}
	}
	return true
}

// compact returns JSON without the white space that formatters add, or nil if it is not valid.
func compact(content []byte) []byte {
	var made bytes.Buffer
	if json.Compact(&made, content) != nil {
		return nil
	}
	return made.Bytes()
}
