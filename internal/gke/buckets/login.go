package buckets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

// scope is the scope of tokens for all of Google Cloud; IAM decides what they may do.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// login returns the login of the engineer, from the variables that the provider of layer 1 reads, in its order. Without any, the clients
// use the application default credentials.
func login(ctx context.Context) ([]option.ClientOption, error) {
	value := os.Getenv("GOOGLE_CREDENTIALS")
	if token := os.Getenv("GOOGLE_OAUTH_ACCESS_TOKEN"); value == "" && token != "" {
		return []option.ClientOption{option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}))}, nil
	}
	if value == "" {
		return []option.ClientOption{option.WithScopes(scope)}, nil
	}
	raw := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		var err error
		if raw, err = os.ReadFile(value); err != nil {
			return nil, fmt.Errorf("read the file in GOOGLE_CREDENTIALS: %w", err)
		}
	}
	var file struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, errors.New("GOOGLE_CREDENTIALS contains no credentials in JSON")
	}
	credentials, err := google.CredentialsFromJSONWithType(ctx, raw, file.Type, scope)
	if err != nil {
		// The error could quote a part of the key.
		return nil, errors.New("GOOGLE_CREDENTIALS contains no credentials of a known type")
	}
	return []option.ClientOption{option.WithTokenSource(credentials.TokenSource)}, nil
}
