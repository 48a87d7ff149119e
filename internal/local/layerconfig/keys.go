package layerconfig

import (
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/signing"
)

// Key returns the key of the home that signs the artifacts of a team, or of repositories.Platform. It creates the key at the first
// call.
func Key(h home.Home, owner string) (*signing.Key, error) {
	return signing.EnsureKey("the key of "+owner+" for artifacts", h.SecretFile("publish-"+owner+".key"))
}

// PublicKey returns the public key of Key in PEM.
func PublicKey(h home.Home, owner string) (string, error) {
	key, err := Key(h, owner)
	if err != nil {
		return "", err
	}
	return key.PublicPEM()
}
