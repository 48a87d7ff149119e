package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// take adopts the image that the pod asks for now, and returns the image's catalogue entry.
func (c *container) take() (*Image, error) {
	c.pod.mu.Lock()
	select {
	case <-c.changed:
	default:
	}
	before := c.pod.object.Annotations[RuntimeAnnotation]
	if c.name != c.wanted {
		c.find()
		c.pod.object = c.pod.object.DeepCopy()
		c.pod.annotate()
	}
	after, image, err := c.pod.object.Annotations[RuntimeAnnotation], c.image, c.refused
	c.pod.mu.Unlock()
	if before != after {
		c.pod.saySimulated()
	}
	if err != nil {
		return nil, waitError{reasonImage, err}
	}
	return image, nil
}

// start starts a run of the container.
func (c *container) start(ctx context.Context) (*running, error) {
	image, err := c.take()
	if err != nil {
		return nil, err
	}
	if image == nil {
		return &running{began: time.Now()}, c.pod.missing(ctx, c.spec)
	}
	return c.launch(ctx, image)
}

// launch prepares the container's volumes, environment and arguments and starts its program.
func (c *container) launch(ctx context.Context, image *Image) (*running, error) {
	path, err := image.Program(ctx)
	if err != nil {
		return nil, waitError{reasonImage, err}
	}
	c.pod.keep()
	if err := c.pod.prepare(ctx); err != nil {
		return nil, err
	}
	own, err := c.pod.environment(ctx, c.spec)
	if err != nil {
		return nil, err
	}
	mounts := c.pod.mounts(c.spec, own)
	if err := c.pod.makeFolders(mounts); err != nil {
		return nil, err
	}
	// Outside a container, mount paths and the names of Services resolve to nothing. They become folders and loopback
	// addresses of this machine.
	rewrite := func(s string) string { return c.pod.node.services.rewrite(mounts.rewrite(s)) }
	ports, listen, err := freePorts(image.Listen)
	if err != nil {
		return nil, err
	}
	env, err := c.processEnv(image, own, mounts, rewrite)
	if err != nil {
		return nil, err
	}
	args := append([]string{}, image.Entrypoint...)
	for _, word := range c.words() {
		args = append(args, rewrite(expand(word, own)))
	}
	args = append(append(args, listen...), image.Override...)
	if err := logfile.Rename(c.logPath(), logfile.Previous(c.logPath())); err != nil {
		return nil, err
	}
	confinement, err := c.confinement(image, path)
	if err != nil {
		return nil, err
	}
	r := &running{image: image, env: env, began: time.Now()}
	r.process, err = c.pod.node.processes.Start(c.component(), process.Spec{
		Name: c.spec.Name, Path: path, Args: args, Env: env, Dir: c.workingDir(mounts), Log: c.logPath(), Stamps: true,
		Confinement: confinement,
		// argv[0] shows the home, the pod and the container in the list of processes.
		Argv0: filepath.Join(c.pod.dir, c.spec.Name, filepath.Base(path)),
	})
	if err != nil {
		return nil, waitError{"RunContainerError", err}
	}
	c.pod.mu.Lock()
	c.ports, c.network = ports, r.process
	c.pod.mu.Unlock()
	c.pod.event(corev1.EventTypeNormal, "Started", "container %s runs as process %d of this machine", c.spec.Name, r.process.Pid())
	return r, nil
}

// words returns the container's command and arguments. The program replaces the image's entry point, and also the
// first word of the pod's command.
func (c *container) words() []string {
	if len(c.spec.Command) > 1 {
		return append(append([]string{}, c.spec.Command[1:]...), c.spec.Args...)
	}
	return c.spec.Args
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
		args = append(args, fmt.Sprintf("%s=%s:%d", l.Flag, loopback, port))
	}
	return ports, args, nil
}

// processEnv returns the whole environment: the image's variables, the container's, and last the variables that
// replace a container's file system. A pod cannot set the last ones, so it cannot point its process at the credentials
// or programs of others.
func (c *container) processEnv(image *Image, own map[string]string, mounts mounts, rewrite func(string) string) ([]string, error) {
	env := map[string]string{}
	for name, value := range own {
		if !strings.HasPrefix(name, "LD_") && name != "PATH" {
			env[name] = rewrite(value)
		}
	}
	for name, value := range image.Env {
		if _, set := env[name]; !set {
			env[name] = value
		}
	}
	env["HOME"], env["TMPDIR"], env["HOSTNAME"] = c.pod.dir, c.pod.dir, c.pod.current().Name
	if tmp := mounts.at("/tmp"); tmp != "" {
		env["TMPDIR"] = tmp
	}
	delete(env, "KUBECONFIG")
	if account := mounts.at(serviceAccountDir); account != "" {
		kubeconfig, err := c.writeKubeconfig(account)
		if err != nil {
			return nil, err
		}
		env["KUBECONFIG"] = kubeconfig
	}
	list := make([]string, 0, len(env))
	for _, name := range sortedKeys(env) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// workingDir returns the container's working directory if that is in a volume, and the pod's folder otherwise.
func (c *container) workingDir(mounts mounts) string {
	dir := mounts.rewrite(c.spec.WorkingDir)
	if info, err := os.Stat(dir); err == nil && info.IsDir() && strings.HasPrefix(dir, c.pod.dir+"/") {
		return dir
	}
	return c.pod.dir
}

// component returns the container's name in the supervisor's status and in `strata logs`.
func (c *container) component() string {
	o := c.pod.current()
	return "pods/" + strings.Join([]string{o.Namespace, o.Name, c.spec.Name}, "_")
}
