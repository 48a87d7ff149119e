package layers

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestOutputsOfABackendOfFilesAreReadWithoutPulumi(t *testing.T) {
	dir := t.TempDir()
	r := Runner{Stack: "dev", Pulumi: Command(filepath.Join(dir, "none")), WorkDir: func(string) string { return dir }, Env: map[string]string{"PULUMI_BACKEND_URL": "file://" + dir}}
	l := Layer{Name: "one", Project: "one"}
	if got, err := r.MaskedOutputs(t.Context(), l); err != nil || len(got) > 0 {
		t.Errorf("before it has run: %v, %v", got, err)
	}
	const state = `{"version": 3, "checkpoint": {"stack": "dev", "latest": {"resources": [
		{"urn": "urn:pulumi:dev::one::pulumi:pulumi:Stack::one-dev", "type": "pulumi:pulumi:Stack", "outputs":
			{"address": "a", "password": {"` + signature + `": "` + secretSignature + `", "ciphertext": "v1:abc"}}},
		{"urn": "urn:pulumi:dev::one::a:b:C::c", "type": "a:b:C", "outputs": {"other": "x"}}]}}}`
	stacks := filepath.Join(dir, ".pulumi", "stacks", "one")
	if err := os.MkdirAll(stacks, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stacks, "dev.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"address": "a", "password": HiddenSecret}
	if got, err := r.MaskedOutputs(t.Context(), l); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(strings.ReplaceAll(state, `"address": "a"`, `"address": "b"`)))
	if err := errors.Join(err, writer.Close(), os.WriteFile(filepath.Join(stacks, "dev.json.gz"), packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(stacks, "dev.json"), old, old); err != nil {
		t.Fatal(err)
	}
	want["address"] = "b"
	if got, err := r.MaskedOutputs(t.Context(), l); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("of a newer state, compressed by gzip: got %v, %v", got, err)
	}
}

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
