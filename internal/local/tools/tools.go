// Package tools lists the pinned programs that the target local needs, and builds them.
package tools

import (
	"context"
	"runtime"
	"slices"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/toolchain"
)

// ControlPlane are the programs of the toolchain that a cluster needs.
var ControlPlane = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// All returns all tools that `strata up` needs.
func All() []string {
	list := slices.Clone(ControlPlane)
	list = append(list, pulumienv.Tools...)
	list = append(list, "flux-manifests")
	list = append(list, fluxcd.DefaultComponents()...)
	if runtime.GOOS == "linux" {
		list = append(list, "runsc") // runs pods; gVisor exists for Linux only
	}
	return append(list, "dolt")
}

// Ensure builds those of the named tools that are missing, and shows progress.
func Ensure(ctx context.Context, tc *toolchain.Toolchain, show *progress.Reporter, names ...string) error {
	built := 0
	err := tc.Ensure(ctx, func(e toolchain.Event) {
		show.Detail("%s", e)
		// Builds take minutes, so the progress must show even without a terminal.
		if !show.Terminal() || e.Progress == toolchain.Built {
			show.Note("%s", e)
		}
		if e.Progress == toolchain.Built {
			built++
		}
	}, names...)
	if err != nil {
		return err
	}
	if built > 0 {
		show.Detail("%d built", built)
	}
	return nil
}
