package processes

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// Start prepares the container's volumes, environment and arguments and starts its program.
func (p program) Start(ctx context.Context, c runtime.Container) (runtime.Run, error) {
	path, err := p.image.Program(ctx)
	if err != nil {
		return nil, runtime.Error{Reason: runtime.ReasonImage, Err: err}
	}
	if err := c.Volumes.Prepare(ctx); err != nil {
		return nil, err
	}
	own, err := c.Environment.Variables(ctx, c.Spec)
	if err != nil {
		return nil, err
	}
	list, err := c.Volumes.Mounts(c.Spec, own)
	if err == nil {
		err = c.Volumes.MakeFolders(list)
	}
	if err != nil {
		return nil, err
	}
	mounts := mounts(list)
	// Outside a container, mount paths and the names of Services resolve to nothing. They become folders and loopback
	// addresses of this machine.
	rewrite := func(s string) string { return p.runtime.Services.Rewrite(mounts.rewrite(s)) }
	ports, listen, err := freePorts(p.image.Listen)
	if err != nil {
		return nil, err
	}
	env, err := p.environment(c, own, mounts, rewrite)
	if err != nil {
		return nil, err
	}
	args := append([]string{}, p.image.Entrypoint...)
	for _, word := range words(c.Spec) {
		args = append(args, rewrite(environment.Expand(word, own)))
	}
	args = append(append(args, listen...), p.image.Override...)
	if err := logfile.Rename(c.Log, logfile.Previous(c.Log)); err != nil {
		return nil, err
	}
	confinement, err := p.confinement(c, path)
	if err != nil {
		return nil, err
	}
	started, err := p.runtime.Processes.Start(component(c.Object.Namespace, c.Object.Name, c.Spec.Name), process.Spec{
		Name: c.Spec.Name, Path: path, Args: args, Env: env, Dir: workingDir(c, mounts), Log: c.Log, Stamps: true,
		Confinement: confinement,
		// argv[0] shows the home, the pod and the container in the list of processes.
		Argv0: filepath.Join(c.Dir, c.Spec.Name, filepath.Base(path)),
	})
	if err != nil {
		return nil, runtime.Error{Reason: runtime.ReasonStart, Err: err}
	}
	c.Event(corev1.EventTypeNormal, "Started", "container %s runs as process %d of this machine", c.Spec.Name, started.Pid())
	return &run{Process: started, commands: p.image.Commands, env: env, dir: c.Dir, ports: ports}, nil
}

// words returns the container's command and arguments. The program replaces the image's entry point, and also the
// first word of the pod's command.
func words(c *corev1.Container) []string {
	if len(c.Command) > 1 {
		return append(append([]string{}, c.Command[1:]...), c.Args...)
	}
	return c.Args
}

// freePorts gives each listen flag a free port. It returns the loopback ports by container port, and the arguments.
func freePorts(flags []Listen) (map[int32]int, []string, error) {
	ports := map[int32]int{}
	var args []string
	for _, l := range flags {
		port, err := freePort()
		if err != nil {
			return nil, nil, err
		}
		ports[l.Port] = port
		args = append(args, fmt.Sprintf("%s=%s:%d", l.Flag, environment.Loopback, port))
	}
	return ports, args, nil
}

// freePort asks the kernel for a free port on loopback.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(environment.Loopback, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// workingDir returns the container's working directory if that is in a volume, and the pod's folder otherwise.
func workingDir(c runtime.Container, mounts mounts) string {
	dir := mounts.rewrite(c.Spec.WorkingDir)
	if info, err := os.Stat(dir); err == nil && info.IsDir() && strings.HasPrefix(dir, c.Dir+"/") {
		return dir
	}
	return c.Dir
}
