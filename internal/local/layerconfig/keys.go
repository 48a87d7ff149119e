package layerconfig

import (
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/signing"
)

// Key returns the key of the home that signs the artifacts of a team. It creates the key at the first call.
func Key(h home.Home, team string) (*signing.Key, error) {
	return signing.EnsureKey("the key of team "+team, h.SecretFile("publish-"+team+".key"))
}

// PublicKey returns the public key of Key in PEM.
func PublicKey(h home.Home, team string) (string, error) {
	key, err := Key(h, team)
	if err != nil {
		return "", err
	}
	return key.PublicPEM()
}
