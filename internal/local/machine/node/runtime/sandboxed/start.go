package sandboxed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// Start starts the container in the sandbox of its pod.
func (i image) Start(ctx context.Context, c runtime.Container) (runtime.Run, error) {
	i.runtime.mu.Lock()
	p := i.runtime.pods[c.Object.UID]
	i.runtime.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("start container %s: its pod has no sandbox", c.Spec.Name)
	}
	found, err := p.image(ctx, c.Pod, c.Spec, i.name)
	if err != nil {
		return nil, err
	}
	if err := c.Volumes.Prepare(ctx); err != nil {
		return nil, err
	}
	description, err := p.container(ctx, c, found)
	if err != nil {
		return nil, err
	}
	if err := logfile.Rename(c.Log, logfile.Previous(c.Log)); err != nil {
		return nil, err
	}
	p.mu.Lock()
	sandbox := p.sandbox
	p.mu.Unlock()
	run, err := begin(ctx, sandbox, description, c)
	if err != nil && description.ReadOnlyRootFS && strings.Contains(err.Error(), "read-only file system") {
		// gVisor cannot create mount points in a read-only image. Without room for a file, the root file system is as good
		// as read-only.
		c.Event(corev1.EventTypeWarning, "ReadOnlyRootFilesystem", "container %s: the image does not contain the mount points of all volumes, so programs can create empty files in the root file system, but write nothing: add the folders to the image", c.Spec.Name)
		description.ReadOnlyRootFS, description.RootFS.Writable = false, onePage
		_ = logfile.Remove(c.Log) // The log contains the error.
		run, err = begin(ctx, sandbox, description, c)
	}
	if err != nil {
		return nil, runtime.Error{Reason: runtime.ReasonStart, Err: err}
	}
	run.pod, run.image, run.signal = p, found, stopSignal(found.Config.StopSignal)
	return run, nil
}

// container describes a container to the sandboxes.
func (p *pod) container(ctx context.Context, c runtime.Container, found images.Image) (spec.Container, error) {
	own, err := c.Environment.WithServices(ctx, c.Spec)
	if err != nil {
		return spec.Container{}, err
	}
	p.mu.Lock()
	ip := p.ip
	p.mu.Unlock()
	identity, err := identityOf(c, found)
	if err != nil {
		return spec.Container{}, err
	}
	mounts, err := mountsOf(c, found, own, ip, p.runtime.options.Google.Authority)
	if err != nil {
		return spec.Container{}, err
	}
	args := command(c, found, own)
	if len(args) == 0 {
		return spec.Container{}, runtime.Error{Reason: runtime.ReasonStart, Err: fmt.Errorf("image %s names no program: set the container's command", found.Name)}
	}
	process := identity
	process.Args, process.Cwd = args, c.Spec.WorkingDir
	if process.Cwd == "" {
		process.Cwd = found.Config.WorkingDir
	}
	process.Env = p.runtime.options.Google.Variables(variables(found.Config.Env, own, hostname(c.Object)))
	if process.Terminal = c.Spec.TTY; process.Terminal {
		process.Env = withTerm(process.Env)
	}
	description := spec.Container{
		ID: c.Spec.Name, Process: process, Target: c.Target, Mounts: mounts, Limits: limitsOf(c.Spec),
		RootFS: spec.RootFS{Image: found.Path, Writable: c.Spec.Resources.Limits.StorageEphemeral().Value()},
	}
	if description.RootFS.Writable == 0 {
		description.RootFS.Writable = defaultWritable
	}
	description.ReadOnlyRootFS = isReadOnly(c.Spec)
	return description, nil
}

// defaultWritable bounds what a container without a limit for ephemeral storage writes to its root file system, in bytes. The
// writes are in memory.
const defaultWritable = 2 << 30

// onePage is the smallest size of a file system in bytes.
const onePage = 4096

// command returns the program and its arguments (Kubernetes, "Define a Command and Arguments for a Container").
func command(c runtime.Container, found images.Image, env map[string]string) []string {
	var words []string
	expanded := func(list []string) (result []string) {
		for _, word := range list {
			result = append(result, environment.Expand(word, env))
		}
		return result
	}
	switch {
	case len(c.Spec.Command) > 0:
		words = slices.Concat(expanded(c.Spec.Command), expanded(c.Spec.Args))
	case len(c.Spec.Args) > 0:
		words = slices.Concat(found.Config.Entrypoint, expanded(c.Spec.Args))
	default:
		words = slices.Concat(found.Config.Entrypoint, found.Config.Cmd)
	}
	return words
}

// defaultPath is the PATH of a container whose image and spec set none, as in containerd. Without it, exec would find no program
// by its name.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// variables returns the environment of a container: PATH, the image's variables, HOSTNAME, and the container's own.
func variables(ofImage []string, own map[string]string, hostname string) []string {
	list := append(slices.Clone(ofImage), "HOSTNAME="+hostname)
	if _, set := own["PATH"]; !set && !slices.ContainsFunc(ofImage, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		list = append(list, defaultPath)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		list = append(list, name+"="+own[name])
	}
	return list
}

// begin starts a container, whose output goes to its log.
func begin(ctx context.Context, sandbox *sandboxes.Pod, description spec.Container, c runtime.Container) (*run, error) {
	// A container of the same name may be left of a run whose removal failed.
	if err := sandbox.RemoveContainer(ctx, description.ID); err != nil {
		return nil, err
	}
	log, err := openLog(c.Log)
	if err != nil {
		return nil, err
	}
	out, in := &output{}, newInput(c)
	streams := sandboxes.Streams{Stdout: out.to(log.stdout, stdout), Stderr: out.to(log.stderr, stderr)}
	if in != nil {
		streams.Stdin = in
	}
	process, err := sandbox.Start(ctx, description, streams)
	if err != nil {
		log.Close()
		if in != nil {
			in.Close()
		}
		return nil, err
	}
	r := &run{
		container: c, sandbox: sandbox, process: process, description: description, log: log, output: out, input: in, done: make(chan struct{}),
	}
	go r.follow()
	return r, nil
}
