package ledgercmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/ledger/query"
)

// NewWhy returns the command `strata why`.
func NewWhy(o cli.Options) *cobra.Command {
	var call cli.Call
	command := &cobra.Command{
		Use:   "why [KIND] NAME",
		Short: "Say why a cloud resource, a user of a database or a Secret exists",
		Long: `Say why a cloud resource, a user of a database or a Secret exists: the call or write that made it, the identity and the policy that allowed
it, the run of the Stack or layer, who approved the run, the commit, its author, and who pushed it.

The answer comes from the ledger of the platform. It needs no running platform and changes nothing. What a commit or a run says about
itself is marked as such; the rest is what the platform saw. strata history --verify finds entries that somebody has changed.

NAME is the name of the resource, its link, or NAMESPACE/NAME of a Secret. KIND distinguishes resources of one name: ` + strings.Join(query.Kinds(), ", ") + `.`,
		Example: `  strata why database web_wordpress
  strata why user web
  strata why team-web/sql-auth
  strata why projects/strata-local/instances/strata -o json`,
		Args:              o.Arguments(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: complete.One(func() ([]string, error) { return query.Kinds(), nil }),
		RunE: func(_ *cobra.Command, words []string) error {
			s, err := open(call)
			if err != nil {
				return err
			}
			book, err := s.load()
			if err != nil {
				return err
			}
			subject, err := book.Find(words...)
			if err != nil {
				return err
			}
			answer := book.Why(subject)
			return call.Print(o.Out, answer, func() error { return printAnswer(o.Out, answer) })
		},
	}
	call = o.Bind(command)
	return command
}
