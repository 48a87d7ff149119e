package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const (
	stackType = "pulumi:pulumi:Stack"

	// In its event log pulumi writes an object with this key and value in place of
	// a secret.
	secretKey   = "4dabf18193072939515e22adb298388d"
	secretValue = "1b47061264138c4ac30d75fd1eb44270"
)

// event holds the parts of an engine event that matter here.
type event struct {
	Diagnostic *diagnostic `json:"diagnosticEvent"`
	Outputs    *struct {
		Metadata struct {
			URN  string `json:"urn"`
			Type string `json:"type"`
			New  *struct {
				Outputs map[string]json.RawMessage `json:"outputs"`
			} `json:"new"`
		} `json:"metadata"`
	} `json:"resOutputsEvent"`
	Failed *struct {
		Metadata struct {
			URN string `json:"urn"`
		} `json:"metadata"`
	} `json:"resOpFailedEvent"`
	Pre *struct {
		Metadata struct {
			URN  string `json:"urn"`
			Op   string `json:"op"`
			Type string `json:"type"`
		} `json:"metadata"`
	} `json:"resourcePreEvent"`
	Summary *struct {
		Changes map[string]int `json:"resourceChanges"`
	} `json:"summaryEvent"`
}

// diagnostic is a message of the engine, of a provider or of the program.
type diagnostic struct {
	URN      string `json:"urn"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

type events []event

// readEvents reads an event log. A log that was cut off is read as far as it goes.
func readEvents(path string) (events, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read event log: %w", err)
	}
	var list events
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var next event
		if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return list, fmt.Errorf("decode event log: %w", err)
		}
		list = append(list, next)
	}
}

// unknownValue stands in an output for what is not known: it is of a resource that
// does not exist, as an update of others only leaves it.
const unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// outputs returns the outputs of the stack after the update, without those of
// which something is not known.
func (l events) outputs() map[string]Output {
	outputs := map[string]Output{}
	for _, e := range l {
		if e.Outputs == nil || e.Outputs.Metadata.Type != stackType || e.Outputs.Metadata.New == nil {
			continue
		}
		clear(outputs)
		for name, raw := range e.Outputs.Metadata.New.Outputs {
			var v any
			switch {
			case json.Unmarshal(raw, &v) != nil || holdsSecret(v):
				outputs[name] = Output{Secret: true}
			case !bytes.Contains(raw, []byte(unknownValue)):
				outputs[name] = Output{Value: raw}
			}
		}
	}
	return outputs
}

func holdsSecret(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if v[secretKey] == secretValue {
			return true
		}
		for _, member := range v {
			if holdsSecret(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsSecret)
	}
	return false
}

// changes returns the last summary of what was done.
func (l events) changes() map[string]int {
	var changes map[string]int
	for _, e := range l {
		if e.Summary != nil {
			changes = e.Summary.Changes
		}
	}
	return changes
}

// began tells whether anything was done about a resource, or at least begun. The
// stack itself and providers are none: they exist in the state only.
func (l events) began() bool {
	return slices.ContainsFunc(l, func(e event) bool {
		return e.Pre != nil && e.Pre.Metadata.Op != "" && e.Pre.Metadata.Type != stackType &&
			!strings.HasPrefix(e.Pre.Metadata.Type, "pulumi:providers:")
	})
}

// unfinished returns names and types of the resources that were begun and are not done, in the order of their beginning.
func (l events) unfinished() []string {
	var urns []string
	for _, e := range l {
		done := ""
		switch {
		case e.Pre != nil && e.Pre.Metadata.Op != "same":
			urns = append(urns, e.Pre.Metadata.URN)
		case e.Outputs != nil:
			done = e.Outputs.Metadata.URN
		case e.Failed != nil:
			done = e.Failed.Metadata.URN
		}
		if i := slices.Index(urns, done); i >= 0 {
			urns = slices.Delete(urns, i, i+1)
		}
	}
	var names []string
	for _, urn := range urns {
		if name := resourceName(urn); name != "" {
			names = append(names, name)
		}
	}
	return names
}
