package core

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// selection is a parsed fields parameter. It maps each selected field to the selection within that field. An empty
// selection selects all fields.
type selection map[string]selection

// parseFields parses a fields parameter, for example "nextPageToken,services(name,config/title)".
func parseFields(text string) (selection, error) {
	selected, rest, ok := parseSelection(text)
	if !ok || rest != "" {
		return nil, api.InvalidArgument("Invalid field selection %s", text)
	}
	return selected, nil
}

// parseSelection parses the longest selection at the start of text, and returns the rest of text.
func parseSelection(text string) (selected selection, rest string, ok bool) {
	selected = selection{}
	for {
		if text, ok = selected.parsePath(text); !ok {
			return nil, "", false
		}
		if text == "" || text[0] != ',' {
			return selected, text, true
		}
		text = text[1:]
	}
}

// parsePath parses one path, which may end in a selection in parentheses, and adds it to s.
func (s selection) parsePath(text string) (rest string, ok bool) {
	at := 0
	for at < len(text) && text[at] != ',' && text[at] != '/' && text[at] != '(' && text[at] != ')' {
		at++
	}
	if at == 0 {
		return "", false
	}
	name := text[:at]
	if s[name] == nil {
		s[name] = selection{}
	}
	switch text = text[at:]; {
	case text != "" && text[0] == '/':
		return s[name].parsePath(text[1:])
	case text != "" && text[0] == '(':
		inner, after, ok := parseSelection(text[1:])
		if !ok || after == "" || after[0] != ')' {
			return "", false
		}
		maps.Copy(s[name], inner)
		return after[1:], true
	}
	return text, true
}

// apply returns the selected part of a response.
func (s selection) apply(answer any) (any, error) {
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var whole any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&whole); err != nil {
		return nil, err
	}
	return s.cut(whole), nil
}

// cut removes the fields that are not selected. An empty selection keeps the whole value. A list applies the selection to each of
// its elements, as Google's APIs do.
func (s selection) cut(value any) any {
	if len(s) == 0 {
		return value
	}
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = s.cut(value[i])
		}
	case map[string]any:
		for name, field := range value {
			inner, ok := s[name]
			if !ok {
				inner, ok = s["*"]
			}
			if ok {
				value[name] = inner.cut(field)
			} else {
				delete(value, name)
			}
		}
	}
	return value
}
