// Command pulumi-resource-strata is the Pulumi plugin that serves Strata's components to programs in YAML and in other
// languages. Pulumi starts it. On the target local, strata itself is the plugin.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/strata-platform/strata/components/plugin"
)

func main() {
	if err := plugin.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-resource-strata:", err)
		os.Exit(1)
	}
}
