package settle

import (
	"bytes"
	"context"
	"encoding/json"
)

// maxContained bounds how many resources of one state Contains decodes. A state can hold millions of empty resources, which
// take seconds and gigabytes to decode.
const maxContained = 20_000

// Contains reports whether a state file of a file backend has the object among its first resources. project is the Google
// Cloud project of providers whose inputs set none. The file is untrusted: Contains decodes the resources one by
// one, and reads the resources of an invalid file up to the fault.
func Contains(ctx context.Context, file []byte, typ, id, project string) bool {
	decoder := json.NewDecoder(bytes.NewReader(file))
	for _, field := range []string{"checkpoint", "latest", "resources"} {
		if !enterField(decoder, field) {
			return false
		}
	}
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		return false
	}
	known := newState(project)
	for range maxContained {
		if !decoder.More() || ctx.Err() != nil {
			return false
		}
		var other resource
		if decoder.Decode(&other) != nil {
			return false
		}
		// A state lists a provider before the resources that use it.
		known.learn(other)
		if other.text("type") == typ && (other.text("id") == id || known.idOf(other) == id) {
			return true
		}
	}
	return false
}

// enterField reads an object up to the value of a field. enterField reports whether the object has the field.
func enterField(decoder *json.Decoder, field string) bool {
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return false
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return false
		}
		if name == field {
			return true
		}
		if decoder.Decode(&json.RawMessage{}) != nil {
			return false
		}
	}
	return false
}
