// Package settings decodes a layer's Pulumi configuration into a struct, and encodes the struct for the Automation API.
//
// The tags of the struct declare the settings:
//
//	Region string         `setting:"region" default:"europe-west1"` // has a default
//	Project string        `setting:"project" required:"true"`       // must be given
//	Password handoff.Secret `setting:"password"`                    // must be given as a secret; optional
//
// A field is a string, an integer, a boolean, a list of strings, a handoff.Secret, or a map. A map is encoded as JSON, and is a
// secret if its tag says secret:"true".
package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
)

// Checked is implemented by a struct with rules beyond the types of its fields.
type Checked interface {
	// Problems returns one phrase for each broken rule. Each phrase begins with the setting's key.
	Problems() []string
}

// Decode fills the struct that target points to from the configuration of the running stack. One error lists all
// problems, including those of Checked.
func Decode(ctx *pulumi.Context, target any) error {
	problems := Read(func(key string) (Value, bool) {
		full := ctx.Project() + ":" + key
		text, found := ctx.GetConfig(full)
		return Value{Text: text, Secret: ctx.IsConfigSecret(full)}, found
	}, target)
	if len(problems) > 0 {
		return fmt.Errorf("read the configuration of stack %s of project %s: %s; run `pulumi config set` to fix it",
			ctx.Stack(), ctx.Project(), strings.Join(problems, "; "))
	}
	return nil
}

// Value is a setting in the form of a stack's configuration; lists and maps are JSON.
type Value struct {
	Text string
	// Secret says that the stack stores the value encrypted.
	Secret bool
}

// Read fills the struct that target points to. get returns the value of a setting by its key. Read returns all problems,
// including those of Checked, as phrases that begin with the setting's key. No phrase quotes a secret.
func Read(get func(key string) (Value, bool), target any) []string {
	value := reflect.ValueOf(target).Elem()
	var problems, broken []string
	for _, field := range fieldsOf(value.Type()) {
		if problem := field.decode(get, value.FieldByIndex(field.index)); problem != "" {
			problems, broken = append(problems, problem), append(broken, field.key)
		}
	}
	if checked, ok := target.(Checked); ok {
		for _, problem := range checked.Problems() {
			// A setting that could not be read now has its zero value, so another problem about it would be noise.
			if !slices.Contains(broken, Key(problem)) {
				problems = append(problems, problem)
			}
		}
	}
	return problems
}

// Key returns the key of the setting at the beginning of a problem.
func Key(problem string) string { return problem[:max(strings.IndexAny(problem, " .:"), 0)] }

// Encode encodes a struct of settings as the configuration of a stack of the named project. It omits a field at its zero
// value if the setting has no default, so that a missing setting stays missing.
func Encode(project string, source any) (auto.ConfigMap, error) {
	value := reflect.ValueOf(source)
	config := auto.ConfigMap{}
	for _, field := range fieldsOf(value.Type()) {
		current := value.FieldByIndex(field.index)
		if current.IsZero() && field.fallback == "" {
			continue
		}
		text, err := encode(current)
		if err != nil {
			return nil, fmt.Errorf("encode setting %s of project %s: %w", field.key, project, err)
		}
		config[project+":"+field.key] = auto.ConfigValue{Value: text, Secret: field.secret}
	}
	return config, nil
}

// Defaults sets every field of the struct that target points to to its default. Fields without a default keep their
// values.
func Defaults(target any) error {
	value := reflect.ValueOf(target).Elem()
	for _, field := range fieldsOf(value.Type()) {
		if field.fallback == "" {
			continue
		}
		if err := decode(field.fallback, value.FieldByIndex(field.index)); err != nil {
			return fmt.Errorf("default of setting %s: %w", field.key, err)
		}
	}
	return nil
}

// Path resolves a relative path against the folder of the project file, independent of the program's working folder.
func Path(ctx *pulumi.Context, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(ctx.RootDirectory(), path)
}

// Declaration describes one setting, for tests that compare a struct with the project file next to it.
type Declaration struct {
	Key, Type, Default string
	Required, Secret   bool
}

// Declarations returns the settings of a struct in the order of its fields.
func Declarations(source any) []Declaration {
	var list []Declaration
	for _, field := range fieldsOf(reflect.TypeOf(source)) {
		list = append(list, Declaration{
			Key: field.key, Type: field.typeName, Default: field.fallback, Required: field.required, Secret: field.secret,
		})
	}
	return list
}

type field struct {
	index            []int
	key, typeName    string
	fallback         string
	required, secret bool
}

var secretType = reflect.TypeFor[handoff.Secret]()

func fieldsOf(t reflect.Type) []field {
	var list []field
	for _, structField := range reflect.VisibleFields(t) {
		key, tagged := structField.Tag.Lookup("setting")
		if !tagged {
			continue
		}
		list = append(list, field{
			index:    structField.Index,
			key:      key,
			typeName: typeName(structField.Type),
			fallback: structField.Tag.Get("default"),
			required: structField.Tag.Get("required") == "true",
			secret:   structField.Type == secretType || structField.Tag.Get("secret") == "true",
		})
	}
	return list
}

// typeName returns the name of type t in a Pulumi project file.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Slice:
		return "array"
	case reflect.Map:
		return "object"
	default:
		return "string"
	}
}

// decode decodes a setting into a field. It returns a phrase that begins with the key if the setting is missing or wrong,
// and "" otherwise. The phrase never quotes a secret.
func (f field) decode(get func(string) (Value, bool), into reflect.Value) string {
	stored, found := get(f.key)
	text := stored.Text
	if !found || text == "" {
		if f.required {
			return f.key + " is missing"
		}
		text = f.fallback
	} else if f.secret && !isEmptyObject(text) && !stored.Secret {
		return f.key + " is in plain text: it must be set with --secret"
	}
	if text == "" {
		return ""
	}
	if err := decode(text, into); err != nil {
		if f.secret {
			return fmt.Sprintf("%s is not of type %s", f.key, f.typeName)
		}
		return fmt.Sprintf("%s is %q, which is not of type %s", f.key, text, f.typeName)
	}
	return ""
}

// isEmptyObject reports whether text is the default of a map in a project file. It contains nothing secret.
func isEmptyObject(text string) bool { return text == "{}" }

// decode decodes a setting: a string as it is, and lists and maps from JSON, the form in which Pulumi passes them to a program.
func decode(text string, into reflect.Value) error {
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
	case reflect.Bool:
		parsed, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		into.SetBool(parsed)
	case reflect.Int:
		parsed, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		into.SetInt(int64(parsed))
	default:
		decoder := json.NewDecoder(bytes.NewBufferString(text))
		decoder.DisallowUnknownFields()
		return decoder.Decode(into.Addr().Interface())
	}
	return nil
}

func encode(value reflect.Value) (string, error) {
	switch value.Kind() {
	case reflect.String:
		return value.String(), nil
	case reflect.Bool:
		return strconv.FormatBool(value.Bool()), nil
	case reflect.Int:
		return strconv.FormatInt(value.Int(), 10), nil
	default:
		text, err := json.Marshal(value.Interface())
		return string(text), err
	}
}
