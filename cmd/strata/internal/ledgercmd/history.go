package ledgercmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/terminal"
)

// History is the output of `strata history TEAM` as a document.
type History struct {
	Chain   string        `json:"chain"`
	Entries []query.Entry `json:"entries"`
	// Earlier counts the entries before these.
	Earlier int `json:"earlier"`
}

// Verification is the output of `strata history --verify` as a document.
type Verification struct {
	ledger.Verified
	// Key is the SHA-256 digest of the public key that signs the heads.
	Key string `json:"key"`
}

// defaultLast is the number of entries that `strata history` shows by default.
const defaultLast = 50

// NewHistory returns the command `strata history`.
func NewHistory(o cli.Options) *cobra.Command {
	var call cli.Call
	var verify bool
	var last int
	command := &cobra.Command{
		Use:   "history TEAM | --verify",
		Short: "Show what has happened to a team, or verify the ledger",
		Long: `Show what has happened to a team, the latest last: pushes, runs with their approvals and changes, calls to Google Cloud, and writes of
Secrets, roles, Stacks and Programs. TEAM may also be a layer: bootstrap, platform, sync.

With --verify, check every entry of the ledger against its chain of hashes and the signed heads, and the audit log of Google Cloud against
the ledger. The command prints the heads, to be compared with heads that you have noted elsewhere: whoever has the key of the home can
write another ledger. The exit code is 0 only if nothing is changed, added or missing.

The commands read the ledger in the home. They need no running platform and change nothing.`,
		Example: `  strata history web
  strata history bootstrap --last 10
  strata history web -o json
  strata history --verify`,
		Args: o.Arguments(func(_ *cobra.Command, args []string) error {
			if verify && len(args) == 0 || !verify && len(args) == 1 {
				return nil
			}
			return errors.New("name one team or layer, or use --verify")
		}),
		ValidArgsFunction: complete.Teams(o.Local),
		RunE: func(command *cobra.Command, args []string) error {
			s, err := open(call)
			if err != nil {
				return err
			}
			if verify {
				return runVerify(command.Context(), o, call, s)
			}
			h, err := historyOf(s, args[0], last)
			if err != nil {
				return err
			}
			return call.Print(o.Out, h, func() error { return printHistory(o.Out, h) })
		},
	}
	call = o.Bind(command)
	command.Flags().BoolVar(&verify, "verify", false, "verify every entry of the ledger, and the audit log of Google Cloud")
	command.Flags().IntVar(&last, "last", defaultLast, "number of entries to show; 0 shows all")
	complete.Flag(command, "last", complete.Nothing)
	return command
}

func historyOf(s *site, name string, last int) (*History, error) {
	chain, ok := s.chainOf(name)
	if !ok {
		var known []string
		for _, each := range s.chains {
			known = append(known, strings.TrimPrefix(each, "team-"))
		}
		return nil, fmt.Errorf("the ledger has no entry of a team or layer %s: name one of %s", terminal.Line(name, longestName), strings.Join(known, ", "))
	}
	book, err := s.load(chain)
	if err != nil {
		return nil, err
	}
	h := &History{Chain: chain, Entries: book.Entries}
	if last > 0 && len(h.Entries) > last {
		h.Earlier = len(h.Entries) - last
		h.Entries = h.Entries[h.Earlier:]
	}
	if h.Entries == nil {
		h.Entries = []query.Entry{}
	}
	return h, nil
}

func runVerify(ctx context.Context, o cli.Options, call cli.Call, s *site) error {
	key, err := s.key()
	if err != nil {
		return err
	}
	v := Verification{}
	if v.Key, err = key.Fingerprint(); err != nil {
		return err
	}
	if v.Verified, err = ledger.Verify(ctx, s.dir, key); err != nil {
		return err
	}
	book, err := s.load()
	if err != nil {
		return err
	}
	problems, err := book.CheckAuditLog(s.auditLog...)
	if err != nil {
		return err
	}
	v.Problems = append(v.Problems, problems...)
	if err := call.Print(o.Out, v, func() error { return printVerification(o.Out, v) }); err != nil {
		return err
	}
	if len(v.Problems) > 0 {
		return fmt.Errorf("the ledger in %s is not what the platform wrote: %d problems; keep a copy of the folder, and compare the heads with those noted elsewhere", s.dir, len(v.Problems))
	}
	return nil
}
