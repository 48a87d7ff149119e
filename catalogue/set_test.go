package catalogue_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/catalogue"
)

func TestAFolderOfTheRepositoryComesBeforeStratasEntry(t *testing.T) {
	const own = "apiVersion: strata/v1\nkind: CatalogueEntry\nnames: {kind: Database, plural: databases}\ndescription: Our own.\nspec: {type: object}\n"
	file := func(path, content string) func(string) error {
		return func(dir string) error {
			target := filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
				return err
			}
			return os.WriteFile(target, []byte(content), 0o600)
		}
	}
	for name, test := range map[string]struct {
		write func(dir string) error
		own   bool
		want  string // in the description or the error
	}{
		"no folder: Strata's":         {os.RemoveAll, false, "A MySQL database"},
		"another folder: Strata's":    {file("queue/entry.yaml", own), false, "A MySQL database"},
		"its own folder":              {file("database/entry.yaml", own), true, "Our own."},
		"a folder without its schema": {file("database/program.yaml", own), true, "create catalogue/database/entry.yaml"},
		"a file in place of a folder": {file("database", own), false, "catalogue/database is no folder"},
		"a link to another folder":    {func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "database")) }, false, "catalogue/database is no folder"},
		"a link in place of all entries": {func(dir string) error {
			return errors.Join(os.Remove(dir), os.Symlink("/etc", dir))
		}, false, "is no folder: the platform's own entries are folders in it"},
		"a schema that never ends": {func(dir string) error {
			return os.Symlink("/dev/zero", filepath.Join(entryFolder(dir), "entry.yaml"))
		}, false, "catalogue/database/entry.yaml is no file"},
		"a Program that never ends": {func(dir string) error {
			return errors.Join(file("database/entry.yaml", own)(dir), os.Symlink("/dev/zero", filepath.Join(dir, "database", "program.yaml")))
		}, false, "catalogue/database/program.yaml is no file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.write(dir); err != nil {
				t.Fatal(err)
			}
			set := catalogue.In(dir)
			var said string
			if entry, err := set.Load("database"); err == nil {
				said = entry.Description
			} else {
				said = err.Error()
			}
			if own, _ := set.Own("database"); own != test.own || !strings.Contains(said, test.want) || strings.Contains(said, "\n") {
				t.Errorf("own is %v, and the entry or the error %q, want %q", own, said, test.want)
			}
		})
	}
	if _, err := catalogue.In(t.TempDir()).Load("../database"); err == nil {
		t.Error("a name leads out of the folder")
	}
}

// entryFolder creates the folder of the entry database, and returns it.
func entryFolder(dir string) string {
	folder := filepath.Join(dir, "database")
	_ = os.Mkdir(folder, 0o700) // The caller's write fails without it.
	return folder
}

// mostOrderLines is the number of lines that a team writes at most for a database, with the line in its kustomization.yaml.
const mostOrderLines = 10

func TestAnOrderOfADatabaseIsShort(t *testing.T) {
	entry, err := catalogue.Load(catalogue.Files, "database")
	if err != nil {
		t.Fatal(err)
	}
	order, err := entry.Order("orders", map[string]string{"engine": "mysql", "size": "small", "onDelete": "keep"})
	if lines := strings.Count(string(order), "\n") + 1; err != nil || lines > mostOrderLines {
		t.Errorf("a team writes %d lines, want at most %d, error %v:\n%s", lines, mostOrderLines, err, order)
	}
}
