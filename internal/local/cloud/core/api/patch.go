package api

import (
	"encoding/json"
	"strings"
)

// MergePatch applies a JSON merge patch (RFC 7396).
func MergePatch(whole, patch map[string]any) map[string]any {
	for field, value := range patch {
		part, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(whole, field)
		case isObject:
			inner, ok := whole[field].(map[string]any)
			if !ok {
				inner = map[string]any{}
			}
			whole[field] = MergePatch(inner, part)
		default:
			whole[field] = value
		}
	}
	return whole
}

// AsObject returns the JSON object that value encodes to.
func AsObject(value any) (map[string]any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	return object, json.Unmarshal(data, &object)
}

// DecodeStrictly decodes a JSON object into a request type of an API. Unknown fields are an error.
func DecodeStrictly[T any](object map[string]any) (*T, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	into := new(T)
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return nil, InvalidArgument("Invalid JSON payload received. %s", PayloadFault(err))
	}
	return into, nil
}
