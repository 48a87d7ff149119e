// Command run is the program of layer 1 that pulumi runs.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/bootstrap"
)

func main() { pulumi.Run(bootstrap.Program) }
