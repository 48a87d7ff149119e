package federation

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

const (
	tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessToken   = "urn:ietf:params:oauth:token-type:access_token"
	jwtToken      = "urn:ietf:params:oauth:token-type:jwt"
	idToken       = "urn:ietf:params:oauth:token-type:id_token"
)

// exchangeRequest is the body of the exchange.
type exchangeRequest struct {
	GrantType          string `json:"grantType"`
	Audience           string `json:"audience"`
	Scope              string `json:"scope"`
	RequestedTokenType string `json:"requestedTokenType"`
	SubjectToken       string `json:"subjectToken"`
	SubjectTokenType   string `json:"subjectTokenType"`
	// Options are features beyond RFC 8693, as a JSON object in a string. The emulator has none of them.
	Options string `json:"options"`
}

// exchange handles the exchange of a token of a cluster's API server for a federated access token (RFC 8693).
func (s *service) exchange(c *api.Call) (any, error) {
	request, err := readExchange(c)
	if err != nil {
		return nil, err
	}
	if err := request.check(); err != nil {
		return nil, err
	}
	found, err := s.provider(request.Audience)
	if err != nil {
		return nil, err
	}
	of, expires, err := s.verify(c.Request.Context(), found, request.SubjectToken)
	if err != nil {
		return nil, err
	}
	who, ok := of.Principal()
	if !ok {
		return nil, invalidGrant("The subject of the token is not a service account of a namespace.")
	}
	var token string
	var until time.Time
	err = s.Store.Update(func(tx *bbolt.Tx) error {
		var err error
		// A federated token does not outlive the token that it is exchanged for.
		token, until, err = s.IssueToken(tx, who, "", request.Scope, expires.Sub(s.Now()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"access_token": token, "issued_token_type": accessToken, "token_type": "Bearer", "expires_in": int(until.Sub(s.Now()).Seconds()),
	}, nil
}

// readExchange reads a request in one of the two forms that Google accepts: a form, with the names of OAuth, or JSON.
func readExchange(c *api.Call) (*exchangeRequest, error) {
	body, err := c.Body()
	if err != nil {
		return nil, err
	}
	request := &exchangeRequest{}
	if kind, _, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type")); kind == "application/json" {
		if err := json.Unmarshal(body, request); err != nil {
			return nil, invalidRequest("The body is not a JSON object with the fields of a token exchange.")
		}
		return request, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, invalidRequest("The body is not a form.")
	}
	for name, into := range map[string]*string{
		"grant_type": &request.GrantType, "audience": &request.Audience, "scope": &request.Scope, "options": &request.Options,
		"requested_token_type": &request.RequestedTokenType, "subject_token": &request.SubjectToken, "subject_token_type": &request.SubjectTokenType,
	} {
		*into = form.Get(name)
	}
	return request, nil
}

// check returns an error for a request that lacks a field, or that asks for what the emulator does not have.
func (r *exchangeRequest) check() error {
	switch {
	case r.GrantType != tokenExchange:
		return &authn.OAuthError{Code: http.StatusBadRequest, Reason: "unsupported_grant_type", Description: "The grant type must be " + tokenExchange + "."}
	case r.RequestedTokenType != accessToken:
		return invalidRequest("The requested token type must be " + accessToken + ".")
	case r.SubjectTokenType != jwtToken && r.SubjectTokenType != idToken:
		return invalidRequest("The emulated Google Cloud exchanges subject tokens of the types " + jwtToken + " and " + idToken + ".")
	case r.SubjectToken == "":
		return invalidRequest("The subject token is missing.")
	case strings.TrimSpace(r.Scope) == "":
		return &authn.OAuthError{Code: http.StatusBadRequest, Reason: "invalid_scope", Description: "Empty or missing scope not allowed."}
	}
	return nil
}

func invalidRequest(description string) error {
	return &authn.OAuthError{Code: http.StatusBadRequest, Reason: "invalid_request", Description: description}
}

func invalidGrant(description string) error {
	return &authn.OAuthError{Code: http.StatusBadRequest, Reason: "invalid_grant", Description: description}
}
