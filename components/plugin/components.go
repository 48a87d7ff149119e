package plugin

import "github.com/strata-platform/strata/components/database"

// components returns the components that the plugin serves, by type token.
func components() map[string]component {
	return map[string]component{
		database.Type: of(database.NewDatabase),
	}
}
