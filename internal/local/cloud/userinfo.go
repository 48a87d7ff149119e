package cloud

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"go.etcd.io/bbolt"
)

// identityService tells callers who they are. The official provider asks it at an address that it cannot configure.
// Projects do not enable it.
func (s *iamService) identityService() *service {
	return &service{
		name:   "openidconnect.googleapis.com",
		prefix: "openidconnect",
		scopes: []string{"openid", "email", "https://www.googleapis.com/auth/userinfo.email"},
		// The call tells callers who they are, so it needs no permission.
		routes: []route{{method: "GET", pattern: "v1/userinfo", handle: s.getUserinfo}},
	}
}

func (s *iamService) getUserinfo(c *call) (any, error) {
	// The emulator gives users no number, so it derives one from the e-mail address.
	sum := sha256.Sum256([]byte(c.who.email))
	subject := strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 10)
	err := s.store.view(func(tx *bbolt.Tx) error {
		account, err := findAccount(tx, "-", c.who.email)
		if err == nil && account != nil {
			subject = account.UniqueId
		}
		return err
	})
	return map[string]any{"sub": subject, "email": c.who.email, "email_verified": true}, err
}
