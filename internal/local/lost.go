package local

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"

	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/pending"
)

const keyType = "gcp:serviceaccount/key:Key"

// deleteLostKeys deletes the keys of service accounts whose creation was cut off: the private part of such a key went to
// nobody, and the next run makes another. The accounts are the layer's own, so that a key that its state does not hold
// is one of these.
func deleteLostKeys(googleURL, credentials string) func(context.Context, []pending.Creation, func(string) bool) error {
	return func(ctx context.Context, creations []pending.Creation, held func(string) bool) error {
		for _, creation := range creations {
			account, _ := creation.Inputs["serviceAccountId"].(string)
			if creation.Type != keyType || account == "" {
				continue
			}
			if !strings.Contains(account, "/") {
				account = "projects/-/serviceAccounts/" + account
			}
			if err := deleteKeys(ctx, googleURL, credentials, account, held); err != nil {
				return fmt.Errorf("delete the keys of %s that an interrupted run made: %w", account, err)
			}
		}
		return nil
	}
}

func deleteKeys(ctx context.Context, googleURL, credentials, account string, held func(string) bool) error {
	raw, err := os.ReadFile(credentials)
	if err != nil {
		return err
	}
	engineer, err := google.CredentialsFromJSONWithType(ctx, raw, google.AuthorizedUser, iam.CloudPlatformScope)
	if err != nil {
		return err
	}
	service, err := iam.NewService(ctx, option.WithTokenSource(engineer.TokenSource), option.WithEndpoint(iamEndpoint(googleURL)))
	if err != nil {
		return err
	}
	keys, err := service.Projects.ServiceAccounts.Keys.List(account).KeyTypes("USER_MANAGED").Context(ctx).Do()
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, key := range keys.Keys {
		if held(key.Name) {
			continue
		}
		if _, err := service.Projects.ServiceAccounts.Keys.Delete(key.Name).Context(ctx).Do(); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// iamEndpoint is where the client of IAM, which adds the version itself, finds the emulated one.
func iamEndpoint(googleURL string) string {
	return strings.TrimSuffix(gcloud.Endpoints(googleURL)["GOOGLE_IAM_CUSTOM_ENDPOINT"], "v1/")
}

func isGone(err error) bool {
	var refusal *googleapi.Error
	return errors.As(err, &refusal) && refusal.Code == http.StatusNotFound
}
