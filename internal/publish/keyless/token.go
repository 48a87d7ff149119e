package keyless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Audience is the audience of tokens for Sigstore.
const Audience = "sigstore"

// Variables of the environment that give a token: the token itself, as GitLab's id_tokens and cosign name it, or the address and the
// credential with which a job of GitHub Actions requests one.
const (
	tokenVariable      = "SIGSTORE_ID_TOKEN" //nolint:gosec // The name of a variable.
	addressVariable    = "ACTIONS_ID_TOKEN_REQUEST_URL"
	credentialVariable = "ACTIONS_ID_TOKEN_REQUEST_TOKEN" //nolint:gosec // The name of a variable.
)

// mostToken bounds the answer to a request of a token, in bytes.
const mostToken = 1 << 20

// ErrNoToken means that the environment offers no token.
var ErrNoToken = errors.New("the environment has no token of OpenID Connect: neither " + tokenVariable + " nor " + addressVariable + " is set")

// Token returns the token that an environment offers, or ErrNoToken. getenv is os.Getenv.
func Token(ctx context.Context, getenv func(string) string) (string, error) {
	if token := getenv(tokenVariable); token != "" {
		return token, nil
	}
	address, credential := getenv(addressVariable), getenv(credentialVariable)
	if address == "" || credential == "" {
		return "", ErrNoToken
	}
	token, err := request(ctx, address, credential)
	if err != nil {
		return "", fmt.Errorf("request a token of OpenID Connect from %s: %w: give the job the permission `id-token: write`", addressVariable, err)
	}
	return token, nil
}

// request requests a token from GitHub Actions. Its errors contain neither the address nor the credential.
func request(ctx context.Context, address, credential string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", errors.New("its value is not a URL")
	}
	query := parsed.Query()
	query.Set("audience", Audience)
	parsed.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, parsed.String(), nil)
	if err != nil {
		return "", errors.New("its value is not a URL")
	}
	call.Header.Set("Authorization", "Bearer "+credential)
	answer, err := http.DefaultClient.Do(call)
	if failed, is := errors.AsType[*url.Error](err); is {
		return "", failed.Err
	}
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers %d", answer.StatusCode)
	}
	var given struct {
		Value string `json:"value"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostToken)).Decode(&given); err != nil || given.Value == "" {
		return "", errors.New("its answer contains no token")
	}
	return given.Value, nil
}
