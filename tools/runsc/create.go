package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/subcommands"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/container"
	"gvisor.dev/gvisor/runsc/flag"
	"gvisor.dev/gvisor/runsc/specutils"
)

// ownersOption is the option of a mount whose owners are records. Package internal/local/machine/owners exports it.
const ownersOption = "x-strata-owners"

// create is upstream's command create, with checks of mounts with owners, and for a user who has mapped only one ID.
type create struct{ cmd.Create }

// Execute implements subcommands.Command.
func (c *create) Execute(_ context.Context, f *flag.FlagSet, args ...any) subcommands.ExitStatus {
	conf := args[0].(*config.Config)
	if f.NArg() != 1 {
		f.Usage()
		return subcommands.ExitUsageError
	}
	arg := func(name string) string { return f.Lookup(name).Value.String() }
	id, bundle := f.Arg(0), arg("bundle")
	if bundle == "" {
		var err error
		if bundle, err = os.Getwd(); err != nil {
			return util.Errorf("create container %s: find the bundle: %v", id, err)
		}
	}
	spec, err := specutils.ReadSpec(bundle, conf)
	if err == nil {
		err = checkOwners(spec, conf)
	}
	if err != nil {
		return util.Errorf("create container %s: %v", id, err)
	}
	if !conf.DirectFS && !mapped("/proc/self/uid_map", nobody) {
		// Upstream runs a sandbox as the user nobody, or as the current user if this is set. Its own command create
		// refuses the latter, because it expects that a user namespace has many IDs.
		conf.Rootless = true
	}
	_, err = container.New(conf, container.Args{
		ID:            id,
		Spec:          spec,
		BundleDir:     bundle,
		ConsoleSocket: arg("console-socket"),
		PIDFile:       arg("pid-file"),
		UserLog:       arg("user-log"),
	})
	if err != nil {
		return util.Errorf("create container %s: %v", id, err)
	}
	return subcommands.ExitSuccess
}

// nobody is the ID of the user that upstream gives to a sandbox.
const nobody = 65534

// mapped reports whether a map of user IDs, such as /proc/self/uid_map, contains an ID. It reports false for a file that
// it cannot read.
func mapped(path string, id int64) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	for {
		var first, outside, count int64
		if _, err := fmt.Fscan(file, &first, &outside, &count); err != nil {
			return false
		}
		if first <= id && id < first+count {
			return true
		}
	}
}

// checkOwners returns an error if a mount with owners cannot work.
func checkOwners(spec *specs.Spec, conf *config.Config) error {
	for _, m := range spec.Mounts {
		if !keepsOwners(m) {
			continue
		}
		if err := checkMount(m, conf); err != nil {
			return fmt.Errorf("mount %s with option %s: %w", m.Destination, ownersOption, err)
		}
	}
	return nil
}

func keepsOwners(m specs.Mount) bool { return slices.Contains(m.Options, ownersOption) }

func checkMount(m specs.Mount, conf *config.Config) error {
	switch {
	case !specutils.IsGoferMount(m):
		return fmt.Errorf("its type is %q: only a bind mount has a folder for the records", m.Type)
	case conf.DirectFS:
		return errors.New("the sandbox opens files itself: add the flag --directfs=false")
	case conf.GetHostUDS() != config.HostUDSNone:
		return errors.New("sockets of this machine have no records: add the flag --host-uds=none")
	case conf.FSGoferHostUDS || conf.ProfileEnable:
		return errors.New("the process that keeps the records has no profiles: remove the flag --profile")
	}
	host, stat, err := lookup(unix.AT_FDCWD, m.Source)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.Source, err)
	}
	defer func() { _ = unix.Close(host) }()
	if !recorded(stat.Mode) {
		return fmt.Errorf("%s is neither a folder nor a file: links have no records", m.Source)
	}
	if _, err := unix.Fgetxattr(host, attribute, nil); errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("the file system of %s stores no user attributes: use ext4, xfs or btrfs", m.Source)
	}
	return nil
}
