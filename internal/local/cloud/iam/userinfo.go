package iam

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// identityService tells callers who they are. The official provider asks it at an address that it cannot configure.
// Projects do not enable it.
func (s *service) identityService() *api.Service {
	return &api.Service{
		Name:   "openidconnect.googleapis.com",
		Prefix: "openidconnect",
		Scopes: []string{"openid", "email", "https://www.googleapis.com/auth/userinfo.email"},
		// The call tells callers who they are, so it needs no permission.
		Routes: []api.Route{{Method: "GET", Pattern: "v1/userinfo", Handle: s.getUserinfo}},
	}
}

func (s *service) getUserinfo(c *api.Call) (any, error) {
	// The emulator gives users no number, so it derives one from the e-mail address.
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
