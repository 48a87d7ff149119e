package plugin

import (
	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/components/database"
	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/statebucket"
)

// components returns the components that the plugin serves, by type token. It omits those whose arguments are Go values
// without a form in YAML: a hop, a Stack with a typed Program, and Flux with its sources, which refer to each other.
func components() map[string]component {
	return map[string]component{
		cloudsql.Type:    of(cloudsql.NewInstance),
		database.Type:    of(database.NewDatabase),
		gke.Type:         of(gke.NewCluster),
		identity.Type:    of(identity.NewIdentity),
		statebucket.Type: of(statebucket.NewBucket),
	}
}
