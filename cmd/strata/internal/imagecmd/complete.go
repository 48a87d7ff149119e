package imagecmd

import (
	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/local/machine/images/desk"
)

// references completes the references of the images of this machine.
func (o commands) references(command *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return complete.List(func() ([]string, error) {
		p, err := o.Local()
		if err != nil || !p.Home.Exists() {
			return nil, err
		}
		d, err := desk.Open(p.Home.Images(), nil)
		if err != nil {
			return nil, err
		}
		list, err := d.List()
		var found []string
		for _, image := range list {
			found = append(found, image.Reference)
		}
		return found, err
	})(command, args, prefix)
}
