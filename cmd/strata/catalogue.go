package main

import "github.com/strata-platform/strata/cmd/strata/internal/cataloguecmd"

func ordering(io streams) cataloguecmd.Options {
	return cataloguecmd.Options{
		Out: io.out, Root: findRepository, Arguments: arguments, Group: group,
		Usage: func(err error) error { return usageError{err} },
	}
}
