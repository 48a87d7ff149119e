// Command run is layer 1 as pulumi starts it.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/bootstrap"
)

func main() { pulumi.Run(bootstrap.Program) }
