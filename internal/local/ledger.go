package local

import (
	"path/filepath"

	"github.com/strata-platform/strata/internal/local/machine/recorder"
	"github.com/strata-platform/strata/internal/signing"
)

// Ledger returns the folder of the home's ledger, the key that signs it, and the files of the audit log of the emulated Google Cloud, the
// oldest first.
func (p *Platform) Ledger() (dir string, key func() (*signing.Key, error), auditLog []string) {
	log := filepath.Join(p.Home.Google(), recorder.AuditLog)
	return p.Home.Ledger(), func() (*signing.Key, error) { return recorder.Key(p.Home) }, []string{log + ".1", log}
}
