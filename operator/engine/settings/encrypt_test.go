package settings

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEncryptByLeavesNoSecretOfAnotherKey encrypts the settings of a repository that another key and another provider encrypted.
func TestEncryptByLeavesNoSecretOfAnotherKey(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	by, err := NewKey(t.Context(), "open sesame")
	if err != nil {
		t.Fatal(err)
	}
	f := File{Root: root, Path: "Pulumi.dev.yaml", Project: "shop", Stack: "dev"}
	if err := f.EncryptBy(t.Context(), by, "[secret]", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("settings without a secret: %v", err)
	}
	const theirs = `secretsprovider: gcpkms://theirs
encryptedkey: theirs
encryptionsalt: theirs
config:
  shop:token: {secure: theirs}
  shop:list: [{name: one, login: {secure: theirs}}]
  shop:plain: theirs
`
	if err := root.WriteFile(f.Path, []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.EncryptBy(t.Context(), by, "[secret]", map[string]string{"own": "1"}); err != nil {
		t.Fatal(err)
	}
	content, err := root.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	type secure struct {
		Secure string `json:"secure"`
	}
	var got struct {
		Provider string `json:"secretsprovider"`
		Key      string `json:"encryptedkey"`
		Salt     string `json:"encryptionsalt"`
		Config   struct {
			Token secure `json:"shop:token"`
			Own   secure `json:"shop:own"`
			List  []struct {
				Name  string `json:"name"`
				Login secure `json:"login"`
			} `json:"shop:list"`
			Plain string `json:"shop:plain"`
		} `json:"config"`
	}
	if err := yaml.UnmarshalStrict(content, &got); err != nil {
		t.Fatal(err)
	}
	if got.Provider != "" || got.Key != "" || got.Salt != by.Salt || got.Config.Plain != "theirs" || len(got.Config.List) != 1 || got.Config.List[0].Name != "one" {
		t.Errorf("the settings are\n%s", content)
	}
	for _, each := range []struct{ secure, want string }{
		{got.Config.Token.Secure, "[secret]"}, {got.Config.List[0].Login.Secure, "[secret]"}, {got.Config.Own.Secure, "1"},
	} {
		if value, err := by.DecryptValue(t.Context(), each.secure); err != nil || value != each.want {
			t.Errorf("decrypted %q, %v, want %q", value, err, each.want)
		}
	}
}
