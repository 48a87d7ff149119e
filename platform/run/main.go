// Command run is the program of layer 2 that pulumi runs.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/platform"
)

func main() { pulumi.Run(platform.Program) }
