// Package teamfile finds what a platform allows the team of a repository.
package teamfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/teams"
)

// Folder is the folder of a team's repository with the files that Strata writes for the team's own checks. Flux applies
// none of them: their names do not end in .yaml.
const Folder = ".strata-team"

// Name is the file in Folder with the team's entry of teams.yaml. It contains no secrets. A team that changes the file
// deceives only its own checks.
const Name = "teams.json"

// maxSize bounds the size of the file in bytes.
const maxSize = 1 << 20

// Content returns the content of the file for a team of a list.
func Content(list *teams.File, name string) ([]byte, error) {
	at := slices.IndexFunc(list.Teams, func(team teams.Team) bool { return team.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("teams.yaml has no team %q", name)
	}
	content, err := yaml.Marshal(teams.File{APIVersion: teams.APIVersion, Kind: teams.Kind, Teams: list.Teams[at : at+1], Catalogue: list.Catalogue})
	if err != nil {
		return nil, fmt.Errorf("write the entry of team %s: %w", name, err)
	}
	return yaml.YAMLToJSON(content)
}

// Source says where the entry of a team is. All fields but Repository may be empty.
type Source struct {
	// Repository is the root of the team's repository.
	Repository string
	// File is a file in the format of teams.yaml. Empty means the file in the repository, and then Fallback.
	File string
	// Fallback returns the teams.yaml of a platform's repository; it counts only if Team is set.
	Fallback func() (string, error)
	// Team is the name of the team. Empty means the only team of the file.
	Team string
}

// ErrTeam is the error of a call that names no team, or a team that the file does not have.
var ErrTeam = errors.New("no such team")

// File returns the name of the file with the entry, or an empty name if no file names a team.
func File(from Source) (string, error) {
	own := filepath.Join(from.Repository, Folder, Name)
	switch {
	case from.File != "":
		return from.File, nil
	case regular(own):
		return own, nil
	case from.Team == "":
		return "", nil
	}
	file, err := from.Fallback()
	if err != nil {
		return "", fmt.Errorf("%w: %s has no %s/%s, and there is no teams.yaml: name it with --teams (%w)", ErrTeam, from.Repository, Folder, Name, err)
	}
	return file, nil
}

// Kept returns the content of a file in Folder of a repository, or nil if the folder has no such file, or one that is a link or
// has more than most bytes.
func Kept(repository, name string, most int64) []byte {
	file := filepath.Join(repository, Folder, name)
	if info, err := os.Lstat(file); err != nil || info.Size() > most || !regular(file) {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return content
}

// Load returns the name of a team and its limits. The name is empty if no file names the team.
func Load(from Source) (string, platform.Limits, error) {
	file, err := File(from)
	if err != nil || file == "" {
		return "", platform.Limits{}, err
	}
	list, err := read(file, from.File == "" && file == filepath.Join(from.Repository, Folder, Name))
	if err != nil {
		return "", platform.Limits{}, err
	}
	names := make([]string, len(list.Teams))
	for i, team := range list.Teams {
		names[i] = team.Name
	}
	at := slices.Index(names, from.Team)
	if from.Team == "" && len(names) == 1 {
		at = 0
	}
	switch {
	case at < 0 && from.Team == "":
		return "", platform.Limits{}, fmt.Errorf("%w: %s has the teams %s: name one with --team", ErrTeam, file, strings.Join(names, ", "))
	case at < 0:
		return "", platform.Limits{}, fmt.Errorf("%w: %s has no team %q, it has %s", ErrTeam, file, from.Team, strings.Join(names, ", "))
	}
	config, err := platform.NewConfig()
	if err != nil {
		return "", platform.Limits{}, err
	}
	config.TeamURL = origin(from.Repository)
	// The file does not name the operator. The limits under upstream's are the stricter ones.
	config.Operator = operators.Upstream
	limits, err := platform.TeamLimits(config, list.Teams[at], list.Catalogue, filepath.Join(filepath.Dir(file), catalogue.Folder))
	return list.Teams[at].Name, limits, err
}

// read reads a list of teams. own says that the file is that of the repository: whoever wrote it could make aliases of YAML stand
// for gigabytes, so it must be JSON, which has none.
func read(file string, own bool) (*teams.File, error) {
	if info, err := os.Stat(file); err == nil && info.Size() > maxSize {
		return nil, fmt.Errorf("%s has %d bytes: a list of teams has at most %d", file, info.Size(), maxSize)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the list of teams: %w", err)
	}
	if own && !json.Valid(content) {
		return nil, fmt.Errorf("read the list of teams %s: it is not JSON: run `strata schema --team NAME --write CLONE` in the platform's repository, and commit the file", file)
	}
	list, err := teams.Decode(content)
	if err != nil {
		return nil, fmt.Errorf("read the list of teams %s: %w", file, err)
	}
	return list, nil
}

// regular reports whether a name is a file in a folder, without links: a repository could otherwise name any file.
func regular(name string) bool {
	folder, err := os.Lstat(filepath.Dir(name))
	if err != nil || !folder.IsDir() {
		return false
	}
	info, err := os.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// origin returns the URL of the repository that a clone comes from, without a login, or "". It starts no git: a repository's
// configuration can name programs that git starts.
func origin(repository string) string {
	name := filepath.Join(repository, ".git", "config")
	if !regular(name) {
		return ""
	}
	content, err := fs.ReadFile(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	if err != nil || len(content) > maxSize {
		return ""
	}
	inside := false
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = line == `[remote "origin"]`
		}
		key, value, _ := strings.Cut(line, "=")
		if !inside || strings.TrimSpace(key) != "url" {
			continue
		}
		address, err := url.Parse(strings.TrimSpace(value))
		if err != nil {
			return ""
		}
		address.User = nil
		return address.String()
	}
	return ""
}
