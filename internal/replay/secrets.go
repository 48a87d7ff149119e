package replay

import (
	"crypto/rand"
	"encoding/base64"
	"unicode"
	"unicode/utf8"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Publish records the texts of a state that are no secrets: they may stay where a secret contains them as a whole.
func (w *Words) Publish(state *State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range state.Resources {
		w.publish(resource.NewProperty(r.In))
		w.publish(resource.NewProperty(r.Out))
		w.publishTexts(string(r.ID), r.name())
	}
	w.publish(resource.NewProperty(state.Outputs))
}

// PublishTexts records more texts that are no secrets.
func (w *Words) PublishTexts(texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.publishTexts(texts...)
}

func (w *Words) publishTexts(texts ...string) {
	if w.public == nil {
		w.public = map[string]bool{}
	}
	for _, text := range texts {
		w.public[text] = true
	}
}

func (w *Words) publish(value resource.PropertyValue) {
	switch {
	case value.IsString():
		w.publishTexts(value.StringValue())
	case value.IsArray():
		for _, each := range value.ArrayValue() {
			w.publish(each)
		}
	case value.IsObject():
		for _, each := range value.ObjectValue() {
			w.publish(each)
		}
	}
}

// harmless reports whether a secret contains the text only because it is one with others, such as the name of a user beside a password.
func (w *Words) harmless(text string) bool {
	if plain, ok := plainOf(text); ok && w.public[plain] {
		return true
	}
	return w.public[text] || text == "" || text == "true" || text == "false"
}

// placeholder returns what replaces a secret that nothing else explains.
func (w *Words) placeholder(text string) string {
	if w.to == nil {
		w.to = map[string]string{}
	}
	// It is valid as a text in base64, too, such as binary data of a Kubernetes Secret.
	made := "placeholder" + rand.Text()[:25]
	if plain, ok := plainOf(text); ok {
		made = base64.StdEncoding.EncodeToString([]byte(w.placeholder(plain)))
	}
	if w.to[text] = made; len(text) >= shortest {
		w.replacer = nil
	}
	return made
}

// plainOf returns the text that another text encodes in base64.
func plainOf(text string) (plain string, ok bool) {
	if len(text) == 0 || len(text)%4 != 0 {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(decoded) {
		return "", false
	}
	for _, r := range string(decoded) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return "", false
		}
	}
	return string(decoded), true
}
