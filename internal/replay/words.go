package replay

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// shortest is the length of the shortest text that is replaced within other texts, in bytes. A shorter one may occur by chance.
const shortest = 7

// Words maps texts of the recorded place to those of the new one: addresses, paths, identifiers and secrets. It is safe for concurrent use.
// The zero value maps nothing.
type Words struct {
	mu       sync.Mutex
	to       map[string]string
	numbers  map[float64]float64
	public   map[string]bool
	replacer *strings.Replacer
}

// Add replaces a text by another one, in whole and within longer texts, also in base64. Texts of less than seven bytes have no effect.
func (w *Words) Add(from, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(from, to)
}

func (w *Words) add(from, to string) {
	// An empty output is not there yet: a CustomResourceDefinition has accepted no name when it is created.
	if from == to || to == "" || len(from) < shortest || w.to[from] != "" {
		return
	}
	if w.to == nil {
		w.to = map[string]string{}
	}
	w.to[from], w.replacer = to, nil
	// A key file is an output in base64, and an input in plain text.
	if old, ok := plainOf(from); ok {
		if made, ok := plainOf(to); ok {
			w.add(old, made)
		}
	}
}

// AddPort replaces a port, as a number and in addresses of this machine.
func (w *Words) AddPort(from, to int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.numbers == nil {
		w.numbers = map[float64]float64{}
	}
	w.numbers[float64(from)] = float64(to)
}

// Learn records how the outputs of a resource have changed.
func (w *Words) Learn(from, to resource.PropertyMap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learn(resource.NewProperty(from), resource.NewProperty(to))
}

func (w *Words) learn(from, to resource.PropertyValue) {
	from, to = open(from), open(to)
	switch {
	case from.IsString() && to.IsString():
		w.add(from.StringValue(), to.StringValue())
	case from.IsArray() && to.IsArray() && len(from.ArrayValue()) == len(to.ArrayValue()):
		for i, each := range from.ArrayValue() {
			w.learn(each, to.ArrayValue()[i])
		}
	case from.IsObject() && to.IsObject():
		for name, each := range from.ObjectValue() {
			// The name of a resource version changes with each write, and the order of conditions with time. They say nothing about
			// other resources.
			if name != "resourceVersion" && name != "conditions" {
				w.learn(each, to.ObjectValue()[name])
			}
		}
	}
}

// open returns a value without the mark of a secret.
func open(value resource.PropertyValue) resource.PropertyValue {
	for value.IsSecret() {
		value = value.SecretValue().Element
	}
	return value
}

// Map returns inputs for the new place. A secret text that repeats nothing known gets a placeholder, always the same one.
func (w *Words) Map(values resource.PropertyMap) resource.PropertyMap {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.object(values, false)
}

// Text returns a text for the new place.
func (w *Words) Text(text string) string {
	return w.Map(resource.PropertyMap{"": resource.NewProperty(text)})[""].StringValue()
}

func (w *Words) object(values resource.PropertyMap, secret bool) resource.PropertyMap {
	made := resource.PropertyMap{}
	for name, value := range values {
		made[name] = w.value(value, secret)
	}
	return made
}

func (w *Words) value(value resource.PropertyValue, secret bool) resource.PropertyValue {
	switch {
	case value.IsSecret():
		return resource.MakeSecret(w.value(value.SecretValue().Element, true))
	case value.IsString():
		text := w.text(value.StringValue())
		if secret && text == value.StringValue() && !w.harmless(text) {
			text = w.placeholder(text)
		}
		return resource.NewProperty(text)
	case value.IsNumber():
		if to, ok := w.numbers[value.NumberValue()]; ok {
			return resource.NewProperty(to)
		}
	case value.IsArray():
		made := make([]resource.PropertyValue, len(value.ArrayValue()))
		for i, each := range value.ArrayValue() {
			made[i] = w.value(each, secret)
		}
		return resource.NewProperty(made)
	case value.IsObject():
		return resource.NewProperty(w.object(value.ObjectValue(), secret))
	}
	return value
}

// text replaces the known texts in a text. It looks into a text in base64, such as the data of a Kubernetes Secret.
func (w *Words) text(text string) string {
	if len(text) < shortest {
		return text
	}
	if to, ok := w.to[text]; ok {
		return to
	}
	if plain, ok := plainOf(text); ok {
		if made := w.replace(plain); made != plain {
			return base64.StdEncoding.EncodeToString([]byte(made))
		}
	}
	return w.replace(text)
}

// replace replaces the known texts, longer ones first.
func (w *Words) replace(text string) string {
	if w.replacer == nil {
		byLength := slices.SortedFunc(maps.Keys(w.to), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
		})
		var pairs []string
		for _, from := range byLength {
			if len(from) >= shortest {
				pairs = append(pairs, from, w.to[from])
			}
		}
		w.replacer = strings.NewReplacer(pairs...)
	}
	return w.replacer.Replace(text)
}
