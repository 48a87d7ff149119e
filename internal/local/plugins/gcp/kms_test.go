package gcp_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/option"
)

const (
	stateKeys = "projects/" + project + "/locations/europe-west1/keyRings/strata"
	stateKey  = stateKeys + "/cryptoKeys/web"
)

// newStateKey creates stateKey with the project owner's credentials, because the plugin has no resource for keys: Google
// Cloud never deletes one.
func newStateKey(t *testing.T, owner string) {
	t.Helper()
	c, err := google.CredentialsFromJSONWithType(t.Context(), []byte(owner), google.AuthorizedUser, cloudkms.CloudPlatformScope)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := cloudkms.NewService(t.Context(), option.WithCredentials(c), option.WithEndpoint(strings.TrimSuffix(os.Getenv("GOOGLE_KMS_CUSTOM_ENDPOINT"), "v1/")))
	if err != nil {
		t.Fatal(err)
	}
	rings := svc.Projects.Locations.KeyRings
	if _, err := rings.Create("projects/"+project+"/locations/europe-west1", &cloudkms.KeyRing{}).KeyRingId("strata").Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := rings.CryptoKeys.Create(stateKeys, &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId("web").Do(); err != nil {
		t.Fatal(err)
	}
}
