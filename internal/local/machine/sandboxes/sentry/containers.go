package sentry

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// Exec starts a process in a container and returns its process ID there. streams are the standard streams; with a terminal, all
// three are its replica.
func (s Sandbox) Exec(ctx context.Context, container string, p spec.Process, streams [3]*os.File) (int32, error) {
	caps, err := mask(p.Capabilities)
	if err != nil {
		return 0, err
	}
	sets := taskCapabilities{Bounding: caps}
	if p.UID == 0 {
		sets.Permitted, sets.Effective = caps, caps
	}
	cwd := p.Cwd
	if cwd == "" {
		cwd = "/"
	}
	arg := execArgs{
		Args: p.Args, Env: p.Env, Cwd: cwd, UID: p.UID, GID: p.GID, Groups: p.Groups, NoNewPrivileges: p.NoNewPrivileges,
		Capabilities: &sets, Terminal: p.Terminal, Container: container, GuestFDs: []int{0, 1, 2},
	}
	var pid int32
	err = s.call(ctx, "containerManager.ExecuteAsync", arg, &pid, streams[:]...)
	return pid, err
}

// execArgs has the fields of control.ExecArgs of gVisor's pkg/sentry/control.
type execArgs struct {
	Args            []string          `json:"argv"`
	Env             []string          `json:"envv"`
	Cwd             string            `json:"wd"`
	UID             uint32            `json:"KUID"`
	GID             uint32            `json:"KGID"`
	Groups          []uint32          `json:"ExtraKGIDs"`
	NoNewPrivileges bool              `json:"NoNewPrivileges"`
	Capabilities    *taskCapabilities `json:"Capabilities"`
	Terminal        bool              `json:"StdioIsPty"`
	Container       string            `json:"ContainerID"`

	// GuestFDs are the descriptors in the container of the files that the call carries.
	GuestFDs []int `json:"GuestFDs"`
}

// taskCapabilities has the fields of auth.TaskCapabilities of gVisor's pkg/sentry/kernel/auth.
type taskCapabilities struct {
	Permitted   uint64 `json:"PermittedCaps"`
	Inheritable uint64 `json:"InheritableCaps"`
	Effective   uint64 `json:"EffectiveCaps"`
	Bounding    uint64 `json:"BoundingCaps"`
	Ambient     uint64 `json:"AmbientCaps"`
}

// Wait waits until a container's first process has ended.
func (s Sandbox) Wait(ctx context.Context, container string) (syscall.WaitStatus, error) {
	var status uint32
	err := s.call(ctx, "containerManager.Wait", container, &status)
	return syscall.WaitStatus(status), err
}

// WaitProcess waits until a process that Exec has started has ended. It works once for each process.
func (s Sandbox) WaitProcess(ctx context.Context, container string, pid int32) (syscall.WaitStatus, error) {
	var status uint32
	err := s.call(ctx, "containerManager.WaitPID", struct {
		PID int32
		CID string
	}{pid, container}, &status)
	return syscall.WaitStatus(status), err
}

// Target selects the processes that a signal reaches, as boot.SignalDeliveryMode of gVisor's runsc/boot.
type Target int

const (
	// One is the process itself.
	One Target = 0
	// All is all processes of the container.
	All Target = 1
	// Foreground is the foreground process group of the process's terminal.
	Foreground Target = 2
)

// Signal sends a signal. A PID of 0 is the container's first process.
func (s Sandbox) Signal(ctx context.Context, container string, pid int32, signal syscall.Signal, target Target) error {
	return s.call(ctx, "containerManager.Signal", struct {
		CID   string
		Signo int32
		PID   int32
		Mode  int
	}{container, int32(signal), pid, int(target)}, nil)
}

// Stats returns the resources that a container uses.
func (s Sandbox) Stats(ctx context.Context, container string) (spec.ContainerStats, error) {
	var event struct {
		Event struct {
			Data struct {
				Memory struct {
					Usage struct {
						Usage int64 `json:"usage"`
					} `json:"usage"`
				} `json:"memory"`
				Pids struct {
					Current int `json:"current"`
				} `json:"pids"`
			} `json:"data"`
		} `json:"event"`
		CPU map[string]uint64 `json:"containerUsage"`
	}
	if err := s.call(ctx, "containerManager.Event", container, &event); err != nil {
		return spec.ContainerStats{}, err
	}
	data := event.Event.Data
	return spec.ContainerStats{CPU: time.Duration(event.CPU[container]), Memory: data.Memory.Usage.Usage, Processes: data.Pids.Current}, nil
}

// Processes returns the number of a container's processes and threads, from gVisor's cgroup. It costs less than Stats.
//
// A maximum for the cgroup would be better, but gVisor's control server cannot write control files.
func (s Sandbox) Processes(ctx context.Context, container string) (int64, error) {
	type file struct {
		Controller string `json:"controller"`
		Path       string `json:"path"`
		Name       string `json:"name"`
	}
	type read struct {
		File file `json:"file"`
	}
	arg := map[string][]read{"args": {{file{"pids", "/" + container, "pids.current"}}}}
	var out struct {
		Results []struct {
			Value   string `json:"value"`
			IsError bool   `json:"is_error"`
		} `json:"results"`
	}
	if err := s.call(ctx, "Cgroups.ReadControlFiles", arg, &out); err != nil {
		return 0, err
	}
	if len(out.Results) != 1 || out.Results[0].IsError {
		return 0, fmt.Errorf("count the processes of %s: gVisor answers %.200q", container, fmt.Sprint(out.Results))
	}
	n, err := strconv.ParseInt(strings.TrimSpace(out.Results[0].Value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count the processes of %s: %w", container, err)
	}
	return n, nil
}
