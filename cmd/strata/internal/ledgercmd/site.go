// Package ledgercmd contains the commands `strata why` and `strata history`.
package ledgercmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/signing"
)

// Target is a target with a ledger.
type Target interface {
	// Ledger returns the folder of the ledger, the key that signs it, and the files of Google Cloud's audit log, the oldest first.
	Ledger() (dir string, key func() (*signing.Key, error), auditLog []string)
}

// site is the ledger of a platform.
type site struct {
	dir      string
	key      func() (*signing.Key, error)
	auditLog []string
	chains   []string
}

// open finds the ledger of the platform.
func open(call cli.Call) (*site, error) {
	p, err := call.Platform()
	if err != nil {
		return nil, err
	}
	target, ok := p.Target.(Target)
	if !ok {
		return nil, errors.New("a platform on Google Cloud has no ledger: its calls are in Cloud Audit Logs, which `gcloud logging read 'logName:cloudaudit.googleapis.com'` shows")
	}
	s := &site{}
	s.dir, s.key, s.auditLog = target.Ledger()
	s.chains, err = ledger.Chains(s.dir)
	if errors.Is(err, ledger.ErrMissing) || err == nil && len(s.chains) == 0 {
		return nil, fmt.Errorf("%s has no ledger yet: run `%s`, which begins one", p.About().Place, p.About().Call("up"))
	}
	return s, err
}

// load reads the chains with the names, or all chains.
func (s *site) load(names ...string) (*query.Book, error) {
	if len(names) == 0 {
		names = s.chains
	}
	return query.Load(s.dir, names...)
}

// chainOf returns the chain of a team or layer.
func (s *site) chainOf(name string) (string, bool) {
	for _, chain := range []string{"team-" + name, name} {
		if slices.Contains(s.chains, chain) {
			return chain, true
		}
	}
	return "", false
}
