package buckets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/gke/login"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloudtest"
)

// client returns a client of an emulated Google Cloud, as the owner of its project.
func client(t *testing.T) *Client {
	t.Helper()
	emulated := cloudtest.Start(t)
	owner, err := google.CredentialsFromJSONWithType(t.Context(), []byte(emulated.Owner), google.AuthorizedUser, login.Scope)
	if err != nil {
		t.Fatal(err)
	}
	// The client of Cloud KMS adds the version to the URL itself.
	at := func(variable, version string) []option.ClientOption {
		return []option.ClientOption{option.WithTokenSource(owner.TokenSource), option.WithEndpoint(strings.TrimSuffix(cloud.Endpoints(emulated.URL)[variable], version))}
	}
	c := &Client{keys: map[string][]byte{}}
	if c.storage, err = storage.NewService(t.Context(), at("GOOGLE_STORAGE_CUSTOM_ENDPOINT", "")...); err != nil {
		t.Fatal(err)
	}
	if c.kms, err = cloudkms.NewService(t.Context(), at("GOOGLE_KMS_CUSTOM_ENDPOINT", "v1/")...); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestATeamCannotFailTheCopyOfItsBucket fills a bucket as a team could.
func TestATeamCannotFailTheCopyOfItsBucket(t *testing.T) {
	c := client(t)
	const bucket = "strata-local-strata-web"
	if _, err := c.storage.Buckets.Insert(cloudtest.Project, &storage.Bucket{Name: bucket, Location: "europe-west1"}).Do(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".pulumi/meta.yaml":                       "version: 1\n",
		".pulumi/stacks/shop/dev.json":            "{}",
		".pulumi/stacks/shop/dev.json.bak":        "old",
		".pulumi/stacks/shop/large.json":          strings.Repeat("x", 2000),
		".pulumi/stacks/../../../../escaped.json": "{}",
		".pulumi/stacks//etc/passwd.json":         "{}",
		".pulumi/history/shop/dev/1.json":         "{}",
		"notes.json":                              "{}",
	} {
		if _, err := c.storage.Objects.Insert(bucket, &storage.Object{Name: name}).Media(bytes.NewBufferString(content)).Do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	left, err := c.Copy(t.Context(), bucket, filepath.Join(dir, "states"), 100, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if want := []string{"states/.pulumi/meta.yaml", "states/.pulumi/stacks/shop/dev.json"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("the files are %q, %v, want %q", files, err, want)
	}
	if len(left) != 3 {
		t.Errorf("left out: %q, want the large state and two with other names", left)
	}
	if left, err := c.Copy(t.Context(), bucket, filepath.Join(dir, "few"), 2, 1000); err != nil || len(left) == 0 || !strings.Contains(left[len(left)-1], "after the first 2") {
		t.Errorf("with a limit of two objects: %q, %v", left, err)
	}
	if _, err := c.Copy(t.Context(), "strata-local-strata-none", filepath.Join(dir, "none"), 1, 1); err == nil || !strings.Contains(err.Error(), "read bucket strata-local-strata-none") {
		t.Errorf("a missing bucket: %v", err)
	}
}

func TestAStateOfCloudKMSIsDecrypted(t *testing.T) {
	c := client(t)
	const location = "projects/" + cloudtest.Project + "/locations/europe-west1"
	rings := c.kms.Projects.Locations.KeyRings
	if _, err := rings.Create(location, &cloudkms.KeyRing{}).KeyRingId("strata").Do(); err != nil {
		t.Fatal(err)
	}
	const name = location + "/keyRings/strata/cryptoKeys/web"
	if _, err := rings.CryptoKeys.Create(location+"/keyRings/strata", &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId("web").Do(); err != nil {
		t.Fatal(err)
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key)
	wrapped, err := rings.CryptoKeys.Encrypt(name, &cloudkms.EncryptRequest{Plaintext: base64.StdEncoding.EncodeToString(key)}).Do()
	if err != nil {
		t.Fatal(err)
	}
	ciphertext, err := config.NewSymmetricCrypter(key).EncryptValue(t.Context(), `"canary"`)
	if err != nil {
		t.Fatal(err)
	}
	state := func(url, encrypted, ciphertext string) []byte {
		return fmt.Appendf(nil, `{"version":3,"checkpoint":{"latest":{"secrets_providers":{"type":"cloud","state":{"url":%q,"encryptedkey":%q}},
			"resources":[{"urn":"x","inputs":{"big":12345678901234567890,"list":[{"%s":"%s","ciphertext":%q}]}}]}}}`, url, encrypted, "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270", ciphertext)
	}
	own := scheme + name
	plain, err := c.Decrypt(t.Context(), state(own, wrapped.Ciphertext, ciphertext), own)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(plain, []byte(`"plaintext":"\"canary\""`)) || bytes.Contains(plain, []byte("secrets_providers")) || !bytes.Contains(plain, []byte("12345678901234567890")) {
		t.Errorf("the state is %s", plain)
	}
	// Nobody is asked for the key of another provider, which the team could have named.
	c.kms.BasePath = "http://127.0.0.1:1/"
	refuse := func(what string, state []byte, provider, want string) {
		t.Helper()
		if _, err := c.Decrypt(context.Background(), state, provider); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	refuse("another key", state(scheme+name+"2", wrapped.Ciphertext, ciphertext), own, "not by the key of its team")
	refuse("another service", state("hashivault://mykey", wrapped.Ciphertext, ciphertext), "hashivault://mykey", "not by the key of its team")
	refuse("a team with a passphrase", state(own, wrapped.Ciphertext, ciphertext), "", "not by the key of its team")
	refuse("no key", state(own, "", ciphertext), own, "has no key")
	refuse("a damaged secret", state(own, wrapped.Ciphertext, "v1:AAAA:AAAA"), own, "a ciphertext is damaged")
	refuse("something else", []byte("hello"), own, "no state of Pulumi")

	passphrase := []byte(`{"version":3,"checkpoint":{"latest":{"secrets_providers":{"type":"passphrase"}}}}`)
	if got, err := c.Decrypt(t.Context(), passphrase, ""); err != nil || !bytes.Equal(got, passphrase) {
		t.Errorf("a state with a passphrase becomes %s, %v", got, err)
	}
}
