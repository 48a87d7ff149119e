package cloudclient

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"

	"google.golang.org/api/cloudkms/v1"
)

// EnsureKey creates a key of Cloud KMS and its key ring unless they exist. name is the full name of the key: projects/P/locations/L/keyRings/R/cryptoKeys/K.
func (c Client) EnsureKey(ctx context.Context, name string) error {
	options, err := c.options(ctx, "GOOGLE_KMS_CUSTOM_ENDPOINT")
	if err != nil {
		return err
	}
	service, err := cloudkms.NewService(ctx, options...)
	if err != nil {
		return err
	}
	ring, key, ok := strings.Cut(name, "/cryptoKeys/")
	if !ok {
		return fmt.Errorf("create the key %s: it is no name of a key", name)
	}
	rings := service.Projects.Locations.KeyRings
	location := path.Dir(path.Dir(ring))
	if _, err := rings.Create(location, &cloudkms.KeyRing{}).KeyRingId(path.Base(ring)).Context(ctx).Do(); ignore(err, http.StatusConflict) != nil {
		return fmt.Errorf("create the key ring %s: %w", ring, err)
	}
	if _, err := rings.CryptoKeys.Create(ring, &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId(key).Context(ctx).Do(); ignore(err, http.StatusConflict) != nil {
		return fmt.Errorf("create the key %s: %w", name, err)
	}
	return nil
}
