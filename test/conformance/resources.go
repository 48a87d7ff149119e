package conformance

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// sized checks the key size of a ConfigMap.
func (s *scene) sized(name, want string) (string, error) {
	return s.holds(configMaps, name, "size", want)
}

// holds checks a key of a ConfigMap or a Secret. For a Secret, it does not return the value.
func (s *scene) holds(of kind, name, key, want string) (string, error) {
	got, err := s.value(of, name, key)
	if err != nil {
		return "", err
	}
	shown := fmt.Sprintf("%s %s has %s=%q", of.kind, name, key, got)
	if of == secrets {
		shown = fmt.Sprintf("%s %s has %s with %d characters", of.kind, name, key, len(got))
	}
	if got != want {
		return "", errors.New(shown)
	}
	return shown, nil
}

// value returns a key of a ConfigMap or a Secret.
func (s *scene) value(of kind, name, key string) (string, error) {
	object, err := s.find(of, name)
	if err != nil {
		return "", err
	}
	value, _, _ := unstructured.NestedString(object.Object, "data", key)
	if of == secrets {
		plain, err := base64.StdEncoding.DecodeString(value)
		return string(plain), err
	}
	return value, nil
}

// uid returns the UID of an object, for a later call of same. An error ends the scene.
func (s *scene) uid(of kind, name string) (uid string) {
	s.change(func() error {
		object, err := s.find(of, name)
		if err == nil {
			uid = string(object.GetUID())
		}
		return err
	})
	return uid
}

// same checks that an object is still the one with a UID.
func (s *scene) same(of kind, name, uid string) (string, error) {
	object, err := s.find(of, name)
	if err != nil {
		return "", err
	}
	if string(object.GetUID()) != uid || object.GetDeletionTimestamp() != nil {
		return "", fmt.Errorf("%s %s has been replaced", of.kind, name)
	}
	return fmt.Sprintf("%s %s is the same object", of.kind, name), nil
}

// masked checks that the output password is masked, and that its value, which the Secret holds, is nowhere in the namespace's Stacks,
// Programs and Events.
func (s *scene) masked(stack *v1.Stack, login string) (string, error) {
	value, err := s.value(secrets, login, "password")
	if err != nil {
		return "", err
	}
	if len(value) != 24 {
		return "", fmt.Errorf("the Secret %s has a password of %d characters, not 24", login, len(value))
	}
	if got := string(stack.Status.Outputs["password"].Raw); got != `"`+v1.SecretOutput+`"` {
		return "", fmt.Errorf("output password has %d bytes instead of %q", len(got), v1.SecretOutput)
	}
	for _, each := range []kind{stacks, programs, events} {
		list, err := s.of(each).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return "", fmt.Errorf("list the kind %s: %w", each.kind, err)
		}
		for _, object := range list.Items {
			if raw, err := json.Marshal(object.Object); err != nil || strings.Contains(string(raw), value) {
				return "", errors.Join(err, fmt.Errorf("%s %s contains the value", each.kind, object.GetName()))
			}
		}
	}
	return "the output is " + v1.SecretOutput, nil
}
