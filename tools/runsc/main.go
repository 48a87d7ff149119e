// Command runsc runs the containers of sandboxed pods. It is gVisor's runsc with the commands that a pod needs, and with
// mounts that keep the owners of files without rights on this machine.
//
// Upstream's own main also has commands that change the machine, such as do and install, and links packages for them.
package main

import (
	"github.com/google/subcommands"
	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd"
)

func main() {
	const internal = "internal use only"
	cli.Run(map[subcommands.Command]string{
		new(create):     "",
		new(cmd.Start):  "",
		new(cmd.Exec):   "",
		new(cmd.Wait):   "",
		new(cmd.Kill):   "",
		new(cmd.Delete): "",
		new(cmd.State):  "",
		new(cmd.List):   "",
		new(cmd.PS):     "",
		new(cmd.Pause):  "",
		new(cmd.Resume): "",
		new(cmd.Events): "",
		new(cmd.Boot):   internal,
		new(gofer):      internal,
		new(cmd.Umount): internal,
	}, nil)
}
