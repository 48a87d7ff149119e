package events

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

const (
	// mostDrifted bounds the resources, mostFields the fields of a resource, and longestValue the characters of a value
	// that a [Log] keeps of a drift. Callers store them in a Kubernetes object.
	mostDrifted  = 50
	mostFields   = 10
	longestValue = 120

	// hiddenValue replaces a value that is a secret or contains one.
	hiddenValue = "[secret]"
)

// Drifted is a resource that differs from what the last update left.
type Drifted struct {
	// Name is the resource's name in its program, and Type its type, as in "gcp:sql/database:Database".
	Name, Type string

	// Missing says that the resource no longer exists. It then has no fields.
	Missing bool

	// Fields are the fields that differ, by their paths, at most ten. A resource whose provider names no field has none.
	Fields []Field

	// More counts the fields beyond those in Fields.
	More int
}

// Field is a field that differs.
type Field struct {
	// Path is the field's path, as in "spec.replicas" or "rules[0].ports".
	Path string

	// Wanted and Found are the values of the last update and of now, as JSON, cut if they are long. They are empty for a
	// missing value, and "[secret]" for a secret.
	Wanted, Found string
}

// drift collects the resources that have drifted.
type drift struct {
	found []Drifted
	more  int
}

// refreshed holds the fields of the event of a refreshed resource.
type refreshed struct {
	Metadata struct {
		Op           string                     `json:"op"`
		URN          string                     `json:"urn"`
		Type         string                     `json:"type"`
		Diffs        []string                   `json:"diffs"`
		DetailedDiff map[string]json.RawMessage `json:"detailedDiff"`
		Old, New     *struct{ Inputs, Outputs any }
	} `json:"metadata"`
}

// addDrift adds a resource if its refresh has found a difference. The line is that of a resOutputsEvent.
func (l *Log) addDrift(line []byte) error {
	var e struct {
		Outputs *refreshed `json:"resOutputsEvent"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	m := e.Outputs.Metadata
	if m.Type == stackType || m.Op != "update" && m.Op != "delete" {
		return nil
	}
	if len(l.drift.found) >= mostDrifted {
		l.drift.more++
		return nil
	}
	name, _, _ := strings.Cut(ResourceName(m.URN), " (")
	found := Drifted{Name: cut(name), Type: cut(m.Type), Missing: m.Op == "delete"}
	if !found.Missing {
		paths := slices.Sorted(maps.Keys(m.DetailedDiff))
		if len(paths) == 0 {
			paths = m.Diffs
		}
		found.More = max(0, len(paths)-mostFields)
		for _, path := range paths[:min(len(paths), mostFields)] {
			field := Field{Path: cut(path)}
			if m.Old != nil && m.New != nil {
				// The provider means a path in the inputs or in the outputs.
				field.Wanted, field.Found = l.value(path, m.Old.Inputs), l.value(path, m.New.Inputs)
				if wanted, found := l.value(path, m.Old.Outputs), l.value(path, m.New.Outputs); field.Wanted == field.Found && wanted != found || field.Wanted == "" && field.Found == "" {
					field.Wanted, field.Found = wanted, found
				}
			}
			found.Fields = append(found.Fields, field)
		}
	}
	l.drift.found = append(l.drift.found, found)
	return nil
}

// value returns the value at a path as short JSON without secrets, or an empty string if there is none.
func (l *Log) value(path string, in any) string {
	steps, err := resource.ParsePropertyPath(path)
	if err != nil {
		return ""
	}
	for _, step := range steps {
		if holder, ok := in.(map[string]any); ok && holder[secretKey] == secretValue {
			return hiddenValue
		}
		switch step := step.(type) {
		case string:
			holder, _ := in.(map[string]any)
			in = holder[step]
		case int:
			list, _ := in.([]any)
			if step < 0 || step >= len(list) {
				return ""
			}
			in = list[step]
		}
	}
	if in == nil {
		return ""
	}
	if holdsSecret(in) {
		return hiddenValue
	}
	text, err := json.Marshal(in)
	if err != nil {
		return ""
	}
	return cut(l.mask.Apply(string(text)))
}

// cut shortens a text to longestValue characters.
func cut(text string) string {
	if runes := []rune(text); len(runes) > longestValue {
		return string(runes[:longestValue-1]) + "…"
	}
	return text
}

// Drift returns the resources that differ from what the last update left, at most 50, and how many more differ. Only the log
// of a refresh has any. Call Drift after Read has returned.
func (l *Log) Drift() (found []Drifted, more int) { return l.drift.found, l.drift.more }
