// Package cloudclient calls the emulated Google Cloud as the engineer.
package cloudclient

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// Client calls the emulated Google Cloud as the engineer.
type Client struct {
	// URL is the base URL of the emulated Google Cloud. Credentials is the path of the engineer's credentials, and Project the ID of
	// the project.
	URL, Credentials, Project string
}

// options returns the options of a client of an emulated API. endpoint is the environment variable with the API's URL.
// The client adds the version to the URL itself.
func (c Client) options(ctx context.Context, endpoint string) ([]option.ClientOption, error) {
	raw, err := os.ReadFile(c.Credentials)
	if err != nil {
		return nil, err
	}
	engineer, err := google.CredentialsFromJSONWithType(ctx, raw, google.AuthorizedUser, iam.CloudPlatformScope)
	if err != nil {
		return nil, err
	}
	url := cloud.Endpoints(c.URL)[endpoint]
	for _, version := range []string{"sql/v1beta4/", "v1/"} {
		url = strings.TrimSuffix(url, version)
	}
	return []option.ClientOption{option.WithTokenSource(engineer.TokenSource), option.WithEndpoint(url)}, nil
}

// refusedWith reports whether err is an answer of the API with one of the HTTP status codes.
func refusedWith(err error, codes ...int) bool {
	var refusal *googleapi.Error
	return errors.As(err, &refusal) && slices.Contains(codes, refusal.Code)
}

// ignore returns nil for an answer with one of the HTTP status codes, and err otherwise.
func ignore(err error, codes ...int) error {
	if refusedWith(err, codes...) {
		return nil
	}
	return err
}
