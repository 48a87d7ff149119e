package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/project"
)

// explain rewrites the message of a failure so that it refers to files in the project's source. The run's folder no longer
// exists when somebody reads the message.
func (r *run) explain(failure *Error) {
	if r.Source == nil {
		text := message.Explain(failure.Message, message.InProgram(r.Program))
		failure.Message = r.relative(message.Properties(r.Program, text))
		return
	}
	if path, fault := message.SchemaFault(failure.Message, failure.Log); fault != "" {
		data, _ := project.ReadFile(r.files, r.project.File)
		failure.Message = message.Place(r.project.File, message.LineOf(data, path...), fault)
		return
	}
	failure.Message = r.relative(message.Explain(failure.Message, r.inFiles()))
}

// relative replaces paths in the run's folder with paths in the project's source.
func (r *run) relative(message string) string {
	files := r.files.Name()
	return strings.NewReplacer(files+"/", "", files, "the project", r.dir+"/", "").Replace(message)
}

// inFiles returns a [message.Locate] that finds a program's faults in the project's files.
func (r *run) inFiles() message.Locate {
	return func(name string, line int, fault string) string {
		dir, err := r.project.ProgramFolder(r.files)
		if err != nil {
			dir = path.Dir(r.project.File)
		}
		names := []string{name}
		if name == "" {
			names = project.ProgramFiles
		}
		for _, name := range names {
			file := path.Join(dir, name)
			data, err := project.ReadFile(r.files, file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return message.Place(file, line, message.Below(message.PathOf(data, line), fault))
		}
		return fmt.Sprintf("line %d: %s", line, fault)
	}
}
