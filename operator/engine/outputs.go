package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxOutputs bounds the number of a stack's outputs, maxOutputBytes their names
	// and values together, as JSON. Callers put them into an object of Kubernetes, of
	// which etcd takes no more than 1.5 MiB with all else that it holds.
	maxOutputs     = 500
	maxOutputBytes = 64 << 10

	// maxOutputDepth bounds how deep an output's value is nested. The encoding CBOR
	// of Kubernetes' API server takes 64 levels for a whole object.
	maxOutputDepth = 32

	// longestName bounds the name of an output in a message.
	longestName = 50
)

const (
	// In its event log pulumi writes an object with this key and value in place of
	// a secret.
	secretKey   = "4dabf18193072939515e22adb298388d"
	secretValue = "1b47061264138c4ac30d75fd1eb44270"

	// unknownValue stands in an output for what is not known: it is of a resource
	// that does not exist, as an update of others only leaves it.
	unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
)

// outputs are the outputs of a stack, without those that hold an unknown value.
type outputs struct {
	values map[string]Output

	// fault says why they cannot be recorded, empty where they can. There are no
	// values then.
	fault string
}

// readOutputs reads a stack's outputs as they stand in an event.
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
			break // The event as a whole was valid.
		}
		list.add(fmt.Sprint(name), value)
	}
	return list.outputs()
}

// outputList gathers outputs up to the bounds, and beyond them what a message names.
type outputList struct {
	values map[string]Output

	// count and size are of all outputs.
	count, size int

	// large lists the largest ones, the first of them the largest.
	large []sized

	// deep is the name of one that is nested too deep.
	deep string
}

type sized struct {
	name string
	size int
}

// mostNamed is how many outputs a message names.
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
		l.large = slices.Insert(l.large, at, sized{shortName(name), size})
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
		return outputs{fault: fmt.Sprintf("its outputs are %d bytes in all, and %d can be recorded: %s; put large data into a bucket or a ConfigMap and output its name",
			l.size, maxOutputBytes, strings.Join(names, ", "))}
	case l.count > maxOutputs:
		return outputs{fault: fmt.Sprintf("it has %d outputs, and %d can be recorded: put them into a map of one output", l.count, maxOutputs)}
	case l.deep != "":
		return outputs{fault: fmt.Sprintf("its output %s is nested deeper than %d levels, and cannot be recorded: output it as a string", shortName(l.deep), maxOutputDepth)}
	}
	return outputs{values: l.values}
}

func shortName(name string) string {
	if name = oneLine(name); len(name) > longestName {
		return strings.ToValidUTF8(name[:longestName], "") + "..."
	}
	return name
}

// readOutput reads an output; one that holds something unknown is not known.
func readOutput(raw json.RawMessage) (output Output, known bool) {
	if len(raw) > maxOutputBytes {
		// It is too large to be recorded, unless it is a secret: its value is not decoded,
		// which would take many times its size.
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

// depth returns how deep the arrays and objects of a valid JSON value are nested.
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
