package layerconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/teams"
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

// longestToken bounds a token, in bytes.
const longestToken = 4096

// notifyTokens returns the tokens that the platform engineer has written into the home, by the team. Layer 2 refuses a team with notify that
// has none.
func notifyTokens(h home.Home, list []teams.Team) (map[string]handoff.Secret, error) {
	var tokens map[string]handoff.Secret
	for _, team := range list {
		if team.Notify == nil {
			continue
		}
		path := h.SecretFile("notify-" + team.Name)
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the token for the statuses of team %s: %w", team.Name, err)
		}
		content, err := io.ReadAll(io.LimitReader(file, longestToken+1))
		_ = file.Close()
		token := strings.TrimSpace(string(content))
		if err != nil || token == "" || len(content) > longestToken || strings.ContainsAny(token, " \r\n\t") {
			return nil, fmt.Errorf("%s must contain the token that writes statuses for team %s, and nothing else", path, team.Name)
		}
		if tokens == nil {
			tokens = map[string]handoff.Secret{}
		}
		tokens[team.Name] = handoff.Secret(token)
	}
	return tokens, nil
}
