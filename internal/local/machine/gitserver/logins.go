package gitserver

import (
	"crypto/subtle"
	"sync/atomic"
)

// Logins are the valid passwords of the accounts. They derive from a secret, and during a rotation also from the former one.
type Logins struct {
	secrets atomic.Pointer[[]string]
	read    func() ([]string, error)
}

// NewLogins returns logins whose passwords derive from secrets.
func NewLogins(secrets ...string) *Logins {
	l := &Logins{}
	l.secrets.Store(&secrets)
	return l
}

// Follow makes the passwords derive from the secrets that read returns at each login, so that a rotation needs no restart. If read
// fails, those of the last login stay valid. The caller calls Follow before the first login.
func (l *Logins) Follow(read func() ([]string, error)) { l.read = read }

// Authentic reports whether a password is valid for the account.
func (l *Logins) Authentic(account, password string) bool {
	if l.read != nil {
		if secrets, err := l.read(); err == nil {
			l.secrets.Store(&secrets)
		}
	}
	valid := 0
	for _, secret := range *l.secrets.Load() {
		valid |= subtle.ConstantTimeCompare([]byte(Password(secret, account)), []byte(password))
	}
	return valid == 1
}
