package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// commandTimeout is the maximum time of a command of runsc. It is generous: a busy machine takes seconds.
const commandTimeout = time.Minute

// runsc runs commands of runsc.
type runsc struct {
	path     string
	platform string
	reaper   *reaper
	count    atomic.Uint64
}

// flags are the flags of every command, beside the platform.
//
//   - Each pod has the network stack of gVisor, on a device of a network namespace that only the pod uses. Packets carry
//     complete checksums and are no larger than the MTU, because the gateway reads them from the device.
//   - Files reach a pod only through its mounts: no sockets or FIFOs of the machine.
//   - Writes to root file systems go to memory, as the annotations of each container say. Mounts have no overlay.
//   - A process of its own serves the files of mounts, because mounts with owners need one.
//   - Programs with the set-user-ID bit work as elsewhere, unless NoNewPrivileges is set.
//   - runsc changes no setting of the machine.
var flags = []string{
	"--root=" + stateFolder, "--log-format=json", "--network=sandbox", "--ignore-cgroups", "--gso=false", "--tx-checksum-offload=false",
	"--rx-checksum-offload=false", "--host-uds=none", "--host-fifo=none", "--overlay2=none", "--host-settings=ignore", "--allow-suid",
	"--directfs=false", "--file-access=exclusive", "--file-access-mounts=shared", "--net-raw=false",
}

// run runs a command of runsc and waits until it has ended. The error contains runsc's own message.
func (r *runsc) run(ctx context.Context, streams [3]*os.File, command string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	log := filepath.Join(logFolder, fmt.Sprintf("%s-%d", command, r.count.Add(1)))
	defer os.Remove(log)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	files := make([]*os.File, len(streams))
	for i := range files {
		files[i] = null
		if streams[i] != nil {
			files[i] = streams[i]
		}
	}
	argv := append([]string{"runsc"}, flags...)
	argv = append(argv, "--log="+log, "--platform="+r.platform, command)
	pid, done, err := r.reaper.start(r.path, append(argv, args...), files)
	if err != nil {
		return fmt.Errorf("start runsc: %w", err)
	}
	select {
	case status := <-done:
		if status.Exited() && status.ExitStatus() == 0 {
			return nil
		}
	case <-ctx.Done():
		r.reaper.kill(pid)
		<-done
		return fmt.Errorf("runsc %s: %w", command, ctx.Err())
	}
	return fmt.Errorf("runsc %s: %w", command, message(log))
}

// maxLog bounds the part of a log that message reads.
const maxLog = 64 << 10

// message returns the last error in a log of runsc.
func message(log string) error {
	data, err := os.ReadFile(log)
	if err != nil {
		return errors.New("it failed without a message")
	}
	data = data[max(0, len(data)-maxLog):]
	text := "it failed without a message"
	for decoder := json.NewDecoder(strings.NewReader(string(data))); ; {
		var entry struct{ Msg, Level string }
		if err := decoder.Decode(&entry); err != nil {
			break
		}
		if entry.Level == "error" {
			text = entry.Msg
		}
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}
