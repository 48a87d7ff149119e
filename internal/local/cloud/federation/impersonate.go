package federation

import (
	"regexp"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/iamcredentials/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// seconds matches a duration in the JSON form of protocol buffers.
var seconds = regexp.MustCompile(`^[0-9]+(\.[0-9]{1,9})?s$`)

// generateAccessToken handles the call that creates an access token of a service account. The token ends with the account, and
// not with the token of the caller.
func (s *service) generateAccessToken(c *api.Call) (any, error) {
	var request iamcredentials.GenerateAccessTokenRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	lifetime := authn.MaxLifetime
	if request.Lifetime != "" {
		var err error
		if lifetime, err = time.ParseDuration(request.Lifetime); err != nil || !seconds.MatchString(request.Lifetime) || lifetime <= 0 {
			return nil, api.InvalidArgument("Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), %q", request.Lifetime)
		}
	}
	switch {
	case len(request.Scope) == 0:
		return nil, api.InvalidArgument("The scope is required.")
	case len(request.Delegates) > 0:
		return nil, api.InvalidArgument("Delegates are not emulated: the caller needs %s on the service account itself.", accessPermission)
	case lifetime > authn.MaxLifetime:
		return nil, api.InvalidArgument("The lifetime of the access token must be at most 3600 seconds: no organization policy extends it.")
	}
	var token string
	var expires time.Time
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		account, err := usable(tx, c)
		if err != nil {
			return err
		}
		who := api.Principal{Member: "serviceAccount:" + account.Email, Email: account.Email}
		token, expires, err = s.IssueToken(tx, who, account.UniqueId, strings.Join(request.Scope, " "), lifetime)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &iamcredentials.GenerateAccessTokenResponse{AccessToken: token, ExpireTime: expires.UTC().Format(time.RFC3339)}, nil
}

// generateIDToken handles the call that creates an ID token of a service account.
func (s *service) generateIDToken(c *api.Call) (any, error) {
	var request iamcredentials.GenerateIdTokenRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	switch {
	case request.Audience == "":
		return nil, api.InvalidArgument("The audience is required.")
	case len(request.Delegates) > 0:
		return nil, api.InvalidArgument("Delegates are not emulated: the caller needs %s on the service account itself.", identityPermission)
	}
	answer := &iamcredentials.GenerateIdTokenResponse{}
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		account, err := usable(tx, c)
		if err != nil {
			return err
		}
		answer.Token, err = s.IssueIDToken(tx, authn.Identity{UniqueID: account.UniqueId, Email: account.Email}, request.Audience)
		return err
	})
	return answer, err
}

// usable returns the service account that the path names, if it exists and is enabled.
func usable(tx *bbolt.Tx, c *api.Call) (*iam.ServiceAccount, error) {
	account, err := authn.FindAccount(tx, "-", c.Vars["account"])
	if err != nil {
		return nil, err
	}
	if account == nil {
		return nil, api.NotFound("Not found; Gaia id not found for email %s", api.Printable(c.Vars["account"]))
	}
	if account.Disabled {
		return nil, api.FailedPrecondition("Service account %s is disabled.", account.Email)
	}
	return account, nil
}
