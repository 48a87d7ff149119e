package gitserver

import (
	"context"

	"github.com/strata-platform/strata/internal/ledger/receipt"
)

// receive reports a push that the server accepts, before git changes anything: a client that disconnects in between leaves no push without a
// receipt. git may still reject the push, for example because of another push to the same branch.
func (s *Server) receive(ctx context.Context, account, repository string, p proposal) {
	if s.Received == nil {
		return
	}
	push := receipt.Push{Account: account, Repository: repository}
	for _, each := range p.updates {
		push.Updates = append(push.Updates, receipt.Update{Ref: each.ref, Old: each.old, New: each.new})
	}
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Check)
	defer cancel()
	push.Describe(ctx, (&judgement{Server: s, repository: repository, proposal: p}).command)
	s.Received(push)
}
