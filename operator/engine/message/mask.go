package message

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Mask replaces secrets in text.
type Mask struct {
	mu       sync.Mutex
	secrets  []string
	replacer *strings.Replacer
}

// ShortestSecret is the length in bytes below which a Mask does not mask a value. A
// mask for a shorter value would make ordinary text unreadable.
const ShortestSecret = 4

// NewMask returns a mask of these secrets.
func NewMask(secrets ...string) *Mask {
	m := &Mask{}
	m.Add(secrets...)
	return m
}

// Add masks further secrets from now on.
func (m *Mask) Add(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets = append(m.secrets, secrets...)
	// Long secrets come first, because a long secret may contain a short one.
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	hide := func(secret string) {
		if len(secret) >= ShortestSecret {
			pairs = append(pairs, secret, "[secret]")
		}
	}
	for _, secret := range m.secrets {
		hide(secret)
		// Messages show a secret of several lines on one line.
		if line := OneLine(secret); line != secret {
			hide(line)
		}
	}
	// The parts come last: the replacer prefers the first of several matches at a place.
	for _, secret := range m.secrets {
		for _, part := range parts(secret) {
			hide(part)
		}
	}
	m.replacer = strings.NewReplacer(pairs...)
}

// shortestPart is the length in bytes below which a Mask does not mask a part of a secret, such as a line of a key. Short lines occur in
// ordinary text.
const shortestPart = 16

// parts returns the texts by which a secret also becomes known: its Base64, as in a Secret of Kubernetes; each line of a text of several
// lines; and such texts in a JSON object, as the private key of a Google service account.
func parts(secret string) []string {
	var found []string
	if len(secret) >= shortestPart {
		found = append(found, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="))
	}
	texts := []string{secret}
	fields := map[string]any{}
	if strings.HasPrefix(strings.TrimSpace(secret), "{") && json.Unmarshal([]byte(secret), &fields) == nil {
		texts = nil
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if text, ok := fields[name].(string); ok && strings.Contains(text, "\n") {
				texts = append(texts, text)
			}
		}
	}
	for _, text := range texts {
		if lines := strings.Split(text, "\n"); len(lines) > 1 {
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= shortestPart {
					found = append(found, line)
				}
			}
		}
	}
	return found
}

// Apply replaces the secrets in a text.
func (m *Mask) Apply(s string) string {
	m.mu.Lock()
	replacer := m.replacer
	m.mu.Unlock()
	return replacer.Replace(s)
}

// LiteralSecrets returns the texts that a program marks as secret by fn::secret. The engine masks them, because messages
// reach more readers than the program does.
func LiteralSecrets(program []byte) []string {
	var document yaml.Node
	if yaml.Unmarshal(program, &document) != nil {
		return nil
	}
	var found []string
	var look func(node *yaml.Node, secret bool)
	look = func(node *yaml.Node, secret bool) {
		if secret && node.Kind == yaml.ScalarNode {
			found = append(found, node.Value)
		}
		for i, child := range node.Content {
			called := node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == "fn::secret"
			key := node.Kind == yaml.MappingNode && i%2 == 0
			look(child, !key && (secret || called))
		}
	}
	look(&document, false)
	return found
}
