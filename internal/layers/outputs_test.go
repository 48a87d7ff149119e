package layers

import (
	"reflect"
	"testing"
)

func TestSecretsWithinOutputsAreMasked(t *testing.T) {
	secret := map[string]any{signature: secretSignature, "ciphertext": "v1:abc"}
	got := masked(map[string]any{
		"plain": "x", "number": 1.0, "nested": map[string]any{"account": "a", "credentials": secret}, "list": []any{"y", secret},
	})
	want := map[string]any{
		"plain": "x", "number": 1.0, "nested": map[string]any{"account": "a", "credentials": HiddenSecret}, "list": []any{"y", HiddenSecret},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}
