package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/subcommands"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/flag"
	"gvisor.dev/gvisor/runsc/specutils"
)

// gofer is the process that serves the files of one container to its sandbox. Upstream's command prepares the mounts and
// drops capabilities, and then starts itself again. That second process is upstream's, too, unless a mount keeps owners.
type gofer struct{ cmd.Gofer }

// Execute implements subcommands.Command.
func (g *gofer) Execute(ctx context.Context, f *flag.FlagSet, args ...any) subcommands.ExitStatus {
	value := func(name string) string { return f.Lookup(name).Value.String() }
	if value("apply-caps") == "true" || value("setup-root") == "true" {
		return g.Gofer.Execute(ctx, f, args...)
	}
	number := func(name string) int {
		n, err := strconv.Atoi(value(name))
		if err != nil {
			util.Fatalf("gofer: flag %s: %v", name, err)
		}
		return n
	}
	conf := args[0].(*config.Config)
	spec, err := readSpec(value("bundle"), number("spec-fd"), conf)
	if err != nil {
		util.Fatalf("gofer: read the spec: %v", err)
	}
	if !slices.ContainsFunc(spec.Mounts, keepsOwners) {
		return g.Gofer.Execute(ctx, f, args...)
	}
	s := service{conf: conf, spec: spec, mountsFD: number("mounts-fd"), procFD: number("proc-mount-sync-fd")}
	if err := s.confs.Set(value("gofer-mount-confs")); err != nil {
		util.Fatalf("gofer: flag gofer-mount-confs: %v", err)
	}
	for text := range strings.SplitSeq(value("io-fds"), ",") {
		socket, err := strconv.Atoi(text)
		if err != nil {
			util.Fatalf("gofer: flag io-fds: %v", err)
		}
		s.sockets = append(s.sockets, socket)
	}
	if number("dev-io-fd") >= 0 {
		util.Fatalf("gofer: a container with devices of this machine cannot have a mount with option %s: remove one of both", ownersOption)
	}
	// The process that started this one expects calls only from the preparation.
	_ = unix.Close(number("rpc-fd"))
	if err := s.run(); err != nil {
		util.Fatalf("gofer: %v", err)
	}
	return subcommands.ExitSuccess
}

// readSpec reads the container's spec from a descriptor, which stays open for upstream's command.
func readSpec(bundle string, descriptor int, conf *config.Config) (*specs.Spec, error) {
	copied, err := unix.FcntlInt(uintptr(descriptor), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(copied), "spec")
	defer func() { _ = file.Close() }()
	return specutils.ReadSpecFromFile(bundle, file, conf)
}
