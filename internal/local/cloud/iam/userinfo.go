package iam

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// identityService returns the service of OpenID Connect that returns the caller's own identity. The official provider
// calls it at an address that cannot be configured. Projects do not enable it.
func (s *service) identityService() *api.Service {
	return &api.Service{
		Name:   "openidconnect.googleapis.com",
		Prefix: "openidconnect",
		Scopes: []string{"openid", "email", "https://www.googleapis.com/auth/userinfo.email"},
		// The call returns only the caller's own identity, so it requires no permission.
		Routes: []api.Route{{Method: "GET", Pattern: "v1/userinfo", Handle: s.getUserinfo}},
	}
}

func (s *service) getUserinfo(c *api.Call) (any, error) {
	// Users of the emulator have no number, so getUserinfo derives one from the e-mail address.
	sum := sha256.Sum256([]byte(c.Who.Email))
	subject := strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 10)
	err := s.Store.View(func(tx *bbolt.Tx) error {
		account, err := authn.FindAccount(tx, "-", c.Who.Email)
		if err == nil && account != nil {
			subject = account.UniqueId
		}
		return err
	})
	return map[string]any{"sub": subject, "email": c.Who.Email, "email_verified": true}, err
}
