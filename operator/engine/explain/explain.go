// Package explain rewrites the messages of failed runs so that they refer to files in the program's source. The run's folder no longer
// exists when somebody reads a message.
package explain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/project"
)

// Run is a run whose messages need a place.
type Run struct {
	// Dir is the run's folder, and Files the folder of the project's files in it.
	Dir   string
	Files *os.Root

	// Project describes the project's Pulumi.yaml in Files.
	Project project.Project

	// FromSource says that the project came from a source. Otherwise Program is the content of Pulumi.yaml, or nil for a run without a
	// program.
	FromSource bool
	Program    []byte
}

// Message returns the message of a failure with its place in the source. log is what the failed command has printed.
func (r Run) Message(text, log string) string {
	if !r.FromSource {
		text = message.Explain(text, message.InProgram(r.Program))
		return r.Relative(message.Properties(r.Program, text))
	}
	if path, fault := message.SchemaFault(text, log); fault != "" {
		data, _ := project.ReadFile(r.Files, r.Project.File)
		return message.Place(r.Project.File, message.LineOf(data, path...), fault)
	}
	return r.Relative(message.Explain(text, r.inFiles()))
}

// Relative replaces paths in the run's folder with paths in the project's source.
func (r Run) Relative(text string) string {
	files := r.Files.Name()
	return strings.NewReplacer(files+"/", "", files, "the project", r.Dir+"/", "").Replace(text)
}

// inFiles returns a [message.Locate] that finds a program's faults in the project's files.
func (r Run) inFiles() message.Locate {
	return func(name string, line int, fault string) string {
		dir, err := r.Project.ProgramFolder(r.Files)
		if err != nil {
			dir = path.Dir(r.Project.File)
		}
		names := []string{name}
		if name == "" {
			names = project.ProgramFiles
		}
		for _, name := range names {
			file := path.Join(dir, name)
			data, err := project.ReadFile(r.Files, file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return message.Place(file, line, message.Below(message.PathOf(data, line), fault))
		}
		return fmt.Sprintf("line %d: %s", line, fault)
	}
}
