package admission

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	// named matches the resource or package of a Program in the message of a policy.
	named = regexp.MustCompile(`^(resource|package) ("(?:[^"\\]|\\.)*") (\S+ \S+ ?\S*)`)
	// contained matches the forbidden part of a value.
	contained = regexp.MustCompile(`^a value contains (\S+?)\.? `)
	// first matches the field at the beginning of a message.
	first = regexp.MustCompile(`^(spec\.\S+?)[,.]? `)
)

// fieldOf returns the path of the field that the message of a policy is about. It returns "" if it finds none.
func fieldOf(object *unstructured.Unstructured, message string) string {
	if match := named.FindStringSubmatch(message); match != nil {
		name := strings.Trim(match[2], `"`)
		if text, err := strconv.Unquote(match[2]); err == nil {
			name = text
		}
		if match[1] == "package" {
			return "program.packages." + name
		}
		field := "program.resources." + name
		switch about := match[3]; {
		case strings.HasPrefix(about, "is of"):
			return field + ".type"
		case strings.HasPrefix(about, "names a"):
			return field + ".options"
		case strings.HasPrefix(about, "has "):
			return field + ".properties.name"
		}
		return field
	}
	if match := contained.FindStringSubmatch(message); match != nil {
		return find(object.Object["program"], "program", strings.ToLower(match[1]))
	}
	if match := first.FindStringSubmatch(message); match != nil {
		return match[1]
	}
	if strings.HasPrefix(message, "its address") {
		return "spec.url"
	}
	return ""
}

// find returns the path of the first key or text that contains a text, in any case.
func find(value any, path, text string) string {
	switch value := value.(type) {
	case string:
		if strings.Contains(strings.ToLower(value), text) {
			return path
		}
	case []any:
		for i, each := range value {
			if found := find(each, path+"["+strconv.Itoa(i)+"]", text); found != "" {
				return found
			}
		}
	case map[string]any:
		for key, each := range value {
			if strings.Contains(strings.ToLower(key), text) {
				return path + "." + key
			}
			if found := find(each, path+"."+key, text); found != "" {
				return found
			}
		}
	}
	return ""
}
