package breaking

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/platform"
)

// Guard compares the entries of a platform with its cluster. All fields are required.
type Guard struct {
	// TeamsFile is the path of teams.yaml.
	TeamsFile string
	// Connect returns the configuration of clients of the cluster, with the rights that [Find] needs. It returns nil if there
	// is no cluster that runs.
	Connect func(context.Context) (*rest.Config, error)
}

// Changes compares the entries with the kinds and orders of the cluster. compared is false if no cluster runs. It changes
// nothing and starts nothing.
func (g Guard) Changes(ctx context.Context) (changes []Change, compared bool, err error) {
	config, err := g.Connect(ctx)
	if err != nil || config == nil {
		return nil, false, err
	}
	changes, err = Find(ctx, config, func() ([]*catalogue.Entry, error) { return platform.Entries(g.TeamsFile) })
	return changes, err == nil, err
}

// Refuse returns an error if layer 2, by its name, would change a kind so that orders break, or if that is not known.
func (g Guard) Refuse(ctx context.Context, layer string) error {
	changes, _, err := g.Changes(ctx)
	if err == nil {
		err = Refuse(changes)
	}
	if err != nil {
		return fmt.Errorf("layer %s: %w", layer, err)
	}
	return nil
}

// RefuseEarly is Refuse before anything changes, the platform's repositories included. A cluster that does not answer is no
// error here: the command may repair it, and layer 2 asks again.
func (g Guard) RefuseEarly(ctx context.Context, layer string) error {
	err := g.Refuse(ctx, layer)
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return err
	}
	return nil
}
