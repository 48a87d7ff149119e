package repositories

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/check/kept"
)

// FirstTeamFiles is the folder of a clone that contains the first files of a team's repository.
const FirstTeamFiles = "examples/wordpress"

// firstTeamProgram is the file that contains the database's user, and firstTeamAccount the one that contains the team's
// account.
const firstTeamProgram, firstTeamAccount = "app-infra.yaml", "wordpress.yaml"

// accountField matches the line with the team's account.
var accountField = regexp.MustCompile(`(?m)^( +serviceAccountName: ).*$`)

// exampleTeam is the team in the example's files.
const exampleTeam = "web"

// These expressions find the names in the example that must become the team's.
var (
	// exampleWord matches the example's team, its account and its namespace.
	exampleWord = regexp.MustCompile(`\b` + exampleTeam + `(_|\b)`)
	// databaseUser matches the line with the user of the example's database.
	databaseUser = regexp.MustCompile(`(?m)^( +name: )` + exampleTeam + `$`)
)

// writeFirstFiles copies the example to a folder for a team. The account gets the team's name. Because the teams share
// an instance, the database's user gets the team's name too, and the database's name begins with it. It adds the files for
// editors and checks, and to the file with the Program the line that names the schema; the schema has no kinds of the others.
func writeFirstFiles(example fs.FS, folder, team string, added map[string][]byte) error {
	if err := os.CopyFS(folder, example); err != nil {
		return err
	}
	modeline := ""
	if added[kept.SchemaFile] != nil {
		modeline = kept.Modeline
	}
	// YAML may read a team's name as another type, such as "on", so it needs encoding.
	name, err := yaml.Marshal(team)
	if err != nil {
		return err
	}
	own := append([]byte(`${1}`), bytes.TrimSpace(name)...)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if entry.Name() == firstTeamProgram {
			if !databaseUser.Match(content) {
				return fmt.Errorf("%s of %s names no database user %s", entry.Name(), FirstTeamFiles, exampleTeam)
			}
			content = databaseUser.ReplaceAll(content, own)
		}
		content = exampleWord.ReplaceAll(content, []byte(team+`${1}`))
		if entry.Name() == firstTeamAccount {
			if !accountField.Match(content) {
				return fmt.Errorf("%s of %s sets no serviceAccountName on a line of its own", entry.Name(), FirstTeamFiles)
			}
			content = accountField.ReplaceAll(content, own)
		}
		if entry.Name() == firstTeamProgram {
			content = append([]byte(modeline), content...)
		}
		return os.WriteFile(path, content, 0o600)
	})
	if err != nil {
		return err
	}
	return kept.Write(folder, added)
}
