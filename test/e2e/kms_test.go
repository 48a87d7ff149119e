package e2e

import (
	"context"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// keys: keys ID... — creates keys of Cloud KMS as the engineer, by Google's client, and sets $KEYS to the beginning of their URLs, which
// end with the IDs.
func keys(ts *testscript.TestScript, _ bool, ids []string) {
	h, err := home.At(ts.Getenv("STRATA_HOME"))
	ts.Check(err)
	credentials, err := os.ReadFile(h.EngineerCredentials())
	ts.Check(err)
	options, err := googleAs(h, credentials, google.AuthorizedUser, "GOOGLE_KMS_CUSTOM_ENDPOINT")
	ts.Check(err)
	service, err := cloudkms.NewService(context.Background(), options...)
	ts.Check(err)
	location := "projects/" + home.Project + "/locations/" + home.Region
	ring, err := service.Projects.Locations.KeyRings.Create(location, &cloudkms.KeyRing{}).KeyRingId("strata").Do()
	ts.Check(err)
	for _, id := range ids {
		_, err := service.Projects.Locations.KeyRings.CryptoKeys.Create(ring.Name, &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId(id).Do()
		ts.Check(err)
	}
	ts.Setenv("KEYS", "gcpkms://"+ring.Name+"/cryptoKeys/")
}
