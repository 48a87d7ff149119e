package events

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// mostPlanned bounds the steps that a [Log] keeps of a preview, mostDestroyed those with deletions and replacements, and mostSteps those
// with steps that lose data: a commit with many harmless steps must not hide that it deletes a database, which Pulumi announces last. At
// least half of mostSteps are left for them. Callers store fewer in a Kubernetes object.
const mostPlanned, mostDestroyed, mostSteps = 200, 5000, 10_000

// Plan is what a preview would do.
type Plan struct {
	// State is the digest of the state that the preview started from, sha256:HEX, or empty for a stack without state.
	State string

	// Steps are the changes of resources, in Pulumi's order: at most 200, beyond those up to 5000 that delete or replace, and beyond those
	// up to 10,000 that lose data. More counts the others.
	Steps []PlannedStep
	More  int

	// Changes counts the resources by their operation in Steps, and by same. Unlike [Log.Changes], it does not count the stack itself
	// and providers, which exist in the state only.
	Changes map[string]int

	// Uncompared counts the fields whose values are secrets, or depend on secrets, that the preview did not see.
	Uncompared int
}

// PlannedStep is the change of one resource.
type PlannedStep struct {
	// Op is create, update, replace, delete or import.
	Op string

	// Name is the resource's name in its program, and Type its type, as in "gcp:sql/database:Database".
	Name, Type string

	// Fields are the fields that change, by their paths, at most ten. The steps create, delete and import have none.
	Fields []PlannedField

	// More counts the fields beyond those in Fields.
	More int
}

// PlannedField is a field that changes.
type PlannedField struct {
	// Path is the field's path, as in "spec.replicas" or "rules[0].ports".
	Path string

	// Before and After are the values as JSON, cut if they are long. They are empty for a missing value, "[secret]" for a
	// secret, and "[unknown]" for a value that only the update will know.
	Before, After string

	// Replaces says that the change of the field makes Pulumi replace the resource.
	Replaces bool
}

// OfPreview makes the Log collect what [Log.Plan] returns. Call OfPreview before Read.
func (l *Log) OfPreview() { l.previews = true }

// Plan returns what the preview would do. Only the log of a preview has any. Call Plan after Read has returned.
func (l *Log) Plan() *Plan {
	for _, step := range l.doomed.rest() {
		l.plan.count(step.Op)
		l.plan.add(step)
	}
	l.doomed = doomed{}
	return &l.plan
}

// count counts a step.
func (p *Plan) count(op string) {
	if p.Changes == nil {
		p.Changes = map[string]int{}
	}
	p.Changes[op]++
}

// add adds a step, or counts it in More.
func (p *Plan) add(step PlannedStep) {
	if !p.room(step.Op, step.Type) {
		p.More++
		return
	}
	p.Steps = append(p.Steps, step)
}

// unchanged is the operation of a resource that stays as it is.
const unchanged = "same"

// planned lists the operations that a plan shows. Pulumi announces a replacement by three steps, and "replace" is the one with the reason
// (pulumi/pulumi, sdk/go/common/display, StepOp). [doomed] finds the deletions that have no such step.
var planned = map[string]string{
	"create": "create", "update": "update", "replace": "replace", "delete": "delete", "import": "import", "import-replacement": "replace",
}

// addPlanned adds the step of a resource. The line is that of a resourcePreEvent.
func (l *Log) addPlanned(line []byte) error {
	var e struct {
		Pre *struct {
			Metadata step `json:"metadata"`
		} `json:"resourcePreEvent"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	m := &e.Pre.Metadata
	if err := l.doomed.note(m); err != nil {
		return err
	}
	op := planned[m.Op]
	if m.Op == unchanged {
		op = unchanged
	}
	if op == "" || inStateOnly(m.Type) {
		return nil
	}
	l.plan.count(op)
	if op == unchanged {
		return nil
	}
	made := PlannedStep{Op: op, Name: cut(nameOf(m.URN)), Type: cut(m.Type)}
	if (op == "update" || op == "replace") && l.plan.room(op, m.Type) {
		l.addFields(&made, m)
	}
	l.plan.add(made)
	return nil
}

// step holds the fields of the event of a step.
type step struct {
	Op           string   `json:"op"`
	URN          string   `json:"urn"`
	Type         string   `json:"type"`
	Keys         []string `json:"keys"`
	Diffs        []string `json:"diffs"`
	DetailedDiff map[string]struct {
		Kind string `json:"diffKind"`
	} `json:"detailedDiff"`
	Old, New *struct {
		ID              string `json:"id"`
		Inputs, Outputs any
	}
}

// addFields adds the fields that change to a planned step.
func (l *Log) addFields(to *PlannedStep, m *step) {
	paths := slices.Sorted(maps.Keys(m.DetailedDiff))
	if len(paths) == 0 {
		paths = slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.Keys, m.Diffs))))
	}
	for _, path := range paths {
		field := PlannedField{Path: cut(path), Replaces: slices.Contains(m.Keys, path) || strings.HasSuffix(m.DetailedDiff[path].Kind, "-replace")}
		if m.Old != nil && m.New != nil {
			field.Before, field.After = l.value(path, m.Old.Inputs), l.value(path, m.New.Inputs)
			if field.Before == "" && field.After == "" {
				// The provider means a path in the outputs.
				field.Before, field.After = l.value(path, m.Old.Outputs), l.value(path, m.New.Outputs)
			}
		}
		if strings.Contains(field.Before, hiddenValue) && strings.Contains(field.After, hiddenValue) {
			l.plan.Uncompared++
		}
		if len(to.Fields) >= mostFields {
			to.More++
			continue
		}
		to.Fields = append(to.Fields, field)
	}
}
