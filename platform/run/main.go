// Command run is layer 2 as pulumi starts it.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/platform"
)

func main() { pulumi.Run(platform.Program) }
