// Package login finds the Google login of the engineer, as the provider of layer 1 does.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Scope is the scope of tokens for all of Google Cloud; IAM decides what they may do.
const Scope = "https://www.googleapis.com/auth/cloud-platform"

// FromVariables returns the login from the variables that the provider of layer 1 reads, in its order. It returns nil without any of
// them: then Google's clients use the application default credentials.
func FromVariables(ctx context.Context) (oauth2.TokenSource, error) {
	value := os.Getenv("GOOGLE_CREDENTIALS")
	if token := os.Getenv("GOOGLE_OAUTH_ACCESS_TOKEN"); value == "" && token != "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}), nil
	}
	if value == "" {
		return nil, nil
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
	credentials, err := google.CredentialsFromJSONWithType(ctx, raw, file.Type, Scope)
	if err != nil {
		// The error could quote a part of the key.
		return nil, errors.New("GOOGLE_CREDENTIALS contains no credentials of a known type")
	}
	return credentials.TokenSource, nil
}

// Token returns an access token of the login, or of the application default credentials.
func Token(ctx context.Context) (string, error) {
	source, err := FromVariables(ctx)
	if err != nil {
		return "", err
	}
	if source == nil {
		credentials, err := google.FindDefaultCredentials(ctx, Scope)
		if err != nil {
			return "", errors.New("there are no application default credentials: run `gcloud auth application-default login`")
		}
		source = credentials.TokenSource
	}
	token, err := source.Token()
	if err != nil {
		return "", fmt.Errorf("log in to Google Cloud: %w", err)
	}
	return token.AccessToken, nil
}
