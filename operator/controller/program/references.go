package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine/message"
)

// fault is a fault of a program and its path.
type fault struct {
	path    []string
	message string
}

// err returns the fault as an error.
func (f *fault) err() error {
	return fmt.Errorf("program.%s: %s", strings.Join(f.path, "."), f.message)
}

// checkReferences returns the first ${...} that refers to nothing or has no end. config
// lists keys that the program need not declare.
func checkReferences(spec v1.ProgramSpec, config []string) error {
	// "pulumi" holds properties of the run, such as the stack's name.
	known := map[string]bool{"pulumi": true}
	for name := range spec.Resources {
		known[name] = true
	}
	for name := range spec.Variables {
		known[name] = true
	}
	for _, name := range slices.AppendSeq(slices.Clone(config), maps.Keys(spec.Configuration)) {
		known[name] = true
		known[name[strings.LastIndexByte(name, ':')+1:]] = true
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	var program map[string]any
	if err := json.Unmarshal(raw, &program); err != nil {
		return err
	}
	for _, part := range []string{"variables", "resources", "outputs"} {
		if found := findFault(program[part], []string{part}, known); found != nil {
			return found.err()
		}
	}
	return nil
}

func findFault(value any, path []string, known map[string]bool) *fault {
	switch value := value.(type) {
	case string:
		if text := brokenReference(value, known); text != "" {
			return &fault{path, text}
		}
	case []any:
		for i, member := range value {
			if found := findFault(member, append(slices.Clone(path), strconv.Itoa(i)), known); found != nil {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found := findFault(value[key], append(slices.Clone(path), key), known); found != nil {
				return found
			}
		}
	}
	return nil
}

// brokenReference describes the fault of the first broken ${...} in a text. It returns an empty string if there is none. $${
// is an escaped ${.
func brokenReference(text string, known map[string]bool) string {
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			return ""
		}
		text = after
		if strings.HasSuffix(before, "$") {
			continue
		}
		name, _, closed := strings.Cut(after, "}")
		if !closed {
			return fmt.Sprintf("%q begins with ${ and has no }", shortened("${"+after))
		}
		if cut := strings.IndexAny(name, ".["); cut >= 0 {
			name = name[:cut]
		}
		if name = strings.TrimSpace(name); name == "" {
			if strings.HasPrefix(after, "[") {
				// A name in brackets: pulumi checks it.
				continue
			}
			return "${} refers to nothing: name a resource, a variable or a config key"
		}
		if !known[name] {
			return fmt.Sprintf("%q could not be found: there is no resource, variable or config key of that name%s", name,
				message.DidYouMean(name, slices.Collect(maps.Keys(known))))
		}
	}
}

func shortened(text string) string {
	const longest = 40
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}
