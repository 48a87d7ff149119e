package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strata-platform/strata/operator/engine/message"
)

const (
	// maxOutputs bounds the number of a stack's outputs, and maxOutputBytes the size of
	// their names and values together, as JSON. Callers store them in a Kubernetes object,
	// and etcd accepts at most 1.5 MiB for the whole object.
	maxOutputs     = 500
	maxOutputBytes = 64 << 10

	// maxOutputDepth bounds the nesting depth of an output's value. The CBOR encoding of
	// the Kubernetes API server accepts 64 levels for a whole object.
	maxOutputDepth = 32
)

const (
	// In its event log, pulumi replaces a secret with an object that has this key and
	// value.
	secretKey   = "4dabf18193072939515e22adb298388d"
	secretValue = "1b47061264138c4ac30d75fd1eb44270"

	// unknownValue replaces an unknown value in an output. A value is unknown if its
	// resource does not exist, which happens when an update targets other resources only.
	unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
)

// Output is one output of a stack.
type Output struct {
	// Value is the output's value as JSON. Value is nil for a secret.
	Value json.RawMessage

	// Secret says that the value is a secret or contains one.
	Secret bool
}

// outputs holds the outputs of a stack, except those that contain an unknown value.
type outputs struct {
	values map[string]Output

	// fault says why the outputs cannot be recorded, and is empty if they can be. If fault
	// is set, values is nil.
	fault string
}

// readOutputs decodes a stack's outputs from an event.
func readOutputs(raw json.RawMessage) outputs {
	list := &outputList{values: map[string]Output{}}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return outputs{}
	}
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			break // This cannot happen: the event as a whole was valid JSON.
		}
		list.add(fmt.Sprint(name), value)
	}
	return list.outputs()
}

// outputList collects outputs up to the bounds. Beyond the bounds, it collects only the
// names for the error message.
type outputList struct {
	values map[string]Output

	// count is the number of all outputs, and size their total size in bytes.
	count, size int

	// large lists the largest outputs in descending order of size.
	large []sized

	// deep is the name of an output that is nested too deeply.
	deep string
}

type sized struct {
	name string
	size int
}

// mostNamed bounds how many outputs a message names.
const mostNamed = 3

func (l *outputList) add(name string, raw json.RawMessage) {
	output, known := readOutput(raw)
	if !known {
		return
	}
	size := len(name) + len(output.Value)
	l.count++
	l.size += size
	if depth(output.Value) > maxOutputDepth {
		l.deep = name
	}
	at, _ := slices.BinarySearchFunc(l.large, size, func(s sized, size int) int { return size - s.size })
	if at < mostNamed {
		l.large = slices.Insert(l.large, at, sized{message.ShortName(name), size})
		l.large = l.large[:min(len(l.large), mostNamed)]
	}
	if l.count <= maxOutputs && l.size <= maxOutputBytes {
		l.values[name] = output
	}
}

func (l *outputList) outputs() outputs {
	switch {
	case l.size > maxOutputBytes:
		var names []string
		for _, o := range l.large {
			names = append(names, fmt.Sprintf("%s (%d bytes)", o.name, o.size))
		}
		if more := l.count - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return outputs{fault: fmt.Sprintf("its outputs have %d bytes in total, and the limit is %d: %s; put large data into a bucket or a ConfigMap and output its name",
			l.size, maxOutputBytes, strings.Join(names, ", "))}
	case l.count > maxOutputs:
		return outputs{fault: fmt.Sprintf("it has %d outputs, and the limit is %d: put them into one output that is a map", l.count, maxOutputs)}
	case l.deep != "":
		return outputs{fault: fmt.Sprintf("its output %s is nested deeper than %d levels, and the status cannot hold it: output it as a string", message.ShortName(l.deep), maxOutputDepth)}
	}
	return outputs{values: l.values}
}

// readOutput decodes an output. readOutput returns false for an output that contains an
// unknown value.
func readOutput(raw json.RawMessage) (output Output, known bool) {
	if len(raw) > maxOutputBytes {
		// The output is too large to be recorded, unless it is a secret, which is recorded
		// without its value. Decoding it would take many times its size.
		if bytes.Contains(raw, []byte(secretKey)) {
			return Output{Secret: true}, true
		}
		return Output{Value: raw}, true
	}
	var v any
	switch {
	case json.Unmarshal(raw, &v) != nil || holdsSecret(v):
		return Output{Secret: true}, true
	case bytes.Contains(raw, []byte(unknownValue)):
		return Output{}, false
	}
	return Output{Value: raw}, true
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

// depth returns the nesting depth of the arrays and objects in a valid JSON value.
func depth(raw json.RawMessage) int {
	deepest, level, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}', c == ']':
			level--
		}
	}
	return deepest
}
