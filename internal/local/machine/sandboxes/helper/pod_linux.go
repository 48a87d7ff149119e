package helper

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/bundle"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/link"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/sentry"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// pod is a running sandbox.
type pod struct {
	bundle.Pod
	runsc  *runsc
	sentry sentry.Sandbox

	// process is the process ID of the sandbox. ended is closed when the sandbox has ended.
	process int
	ended   chan struct{}

	// memory is the file that contains the memory of all containers.
	memory *os.File

	// changing is locked while a container is started or removed.
	changing sync.Mutex

	// mu protects the fields below.
	mu         sync.Mutex
	containers map[string]*container
	execs      map[execKey]*process
	next       int // the number of the next container
	removed    bool
}

// pod returns a pod by its ID.
func (s *server) pod(id string) (*pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[id]
	if p == nil {
		return nil, fmt.Errorf("pod %q: %w", id, protocol.ErrGone)
	}
	return p, nil
}

// createPod starts a sandbox, and returns the gateway's end of its network.
func (s *server) createPod(ctx context.Context, description spec.Pod) (any, *os.File, error) {
	if err := description.Validate(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	if s.pods[description.ID] != nil {
		s.mu.Unlock()
		return nil, nil, fmt.Errorf("pod %q exists: remove it first", description.ID)
	}
	s.next++
	id := fmt.Sprintf("p%d", s.next)
	p := &pod{
		Pod:   bundle.Pod{Pod: description, Sandbox: id, PauseImage: pauseImage},
		runsc: s.runsc, sentry: sentry.Sandbox{Socket: filepath.Join(stateFolder, "runsc-"+id+".sock")},
		ended: make(chan struct{}), containers: map[string]*container{}, execs: map[execKey]*process{},
	}
	s.pods[description.ID] = p
	// Requests for the pod wait until it exists.
	p.changing.Lock()
	s.mu.Unlock()
	defer p.changing.Unlock()
	gateway, err := p.create(ctx)
	if err != nil {
		s.forget(p)
		return nil, nil, fmt.Errorf("create pod %q: %w", description.ID, err)
	}
	return nil, gateway, nil
}

// create creates the network namespace and the sandbox, and starts the sandbox without a container. It returns the gateway's end
// of the pod's link. After an error, nothing of the sandbox is left.
func (p *pod) create(ctx context.Context) (gateway *os.File, err error) {
	ns, err := link.New(p.Pod.Pod.Network)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			ns.Close()
			p.destroy()
		}
	}()
	dir := filepath.Join(bundleFolder, p.Sandbox)
	p.Network = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.File.Fd())
	if err := p.WriteSandbox(dir); err != nil {
		return nil, err
	}
	if p.DNS != "" {
		p.DNSFile = filepath.Join(dir, "resolv.conf")
		if err := os.WriteFile(p.DNSFile, []byte(p.DNS), 0o644); err != nil {
			return nil, err
		}
	}
	pidFile := filepath.Join(dir, "pid")
	if err := p.runsc.run(ctx, [3]*os.File{}, "create", "--bundle="+dir, "--pid-file="+pidFile, p.Sandbox); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return nil, err
	}
	if p.process, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return nil, fmt.Errorf("read the process ID of the sandbox: %w", err)
	}
	ended := p.runsc.reaper.watch(p.process)
	go func() { <-ended; close(p.ended) }()
	if p.memory, err = memoryFile(p.process); err != nil {
		return nil, err
	}
	if err := p.runsc.run(ctx, [3]*os.File{}, "start", p.Sandbox); err != nil {
		return nil, err
	}
	ns.File.Close() // The sandbox keeps the namespace alive.
	go p.watchLimits()
	return ns.Gateway, nil
}

// removePod ends a pod.
func (s *server) removePod(id string) error {
	p, err := s.pod(id)
	if err != nil {
		return nil
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	p.destroy()
	s.forget(p)
	return nil
}

func (s *server) forget(p *pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods[p.ID] == p {
		delete(s.pods, p.ID)
	}
}

// destroy kills the processes of the sandbox, waits until they have ended, and removes its files. A sandbox leads a PID namespace,
// so the processes of its containers end with it.
func (p *pod) destroy() {
	p.mu.Lock()
	p.removed = true
	p.mu.Unlock()
	gofers := p.gofers()
	if p.process != 0 {
		p.runsc.reaper.kill(p.process)
		<-p.ended
	}
	for _, gofer := range gofers {
		ended := p.runsc.reaper.watch(gofer)
		p.runsc.reaper.kill(gofer)
		<-ended
	}
	if p.memory != nil {
		p.memory.Close()
	}
	for _, pattern := range []string{
		stateFolder + "/*_sandbox:" + p.Sandbox + ".*", p.sentry.Socket,
		filepath.Join(bundleFolder, p.Sandbox), filepath.Join(bundleFolder, p.Sandbox+"-*"),
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			_ = os.RemoveAll(path)
		}
	}
}

// gofers returns the process IDs of the processes that give the containers their files.
func (p *pod) gofers() []int {
	states, _ := filepath.Glob(stateFolder + "/*_sandbox:" + p.Sandbox + ".state")
	var found []int
	for _, path := range states {
		data, err := os.ReadFile(path)
		var state struct {
			GoferPid int `json:"goferPid"`
		}
		if err == nil && json.Unmarshal(data, &state) == nil && state.GoferPid > 1 && isChild(state.GoferPid) {
			found = append(found, state.GoferPid)
		}
	}
	return found
}

// isChild reports whether a process is a child of this process, and so is a gofer, or a sandbox.
func isChild(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name is in parentheses and may contain any characters.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid())
}

// memoryFile opens the file that contains the memory of all containers of a sandbox.
func memoryFile(sandbox int) (*os.File, error) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", sandbox))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.HasPrefix(target, "/memfd:runsc-memory") {
			return os.OpenFile(link, os.O_RDONLY|syscall.O_CLOEXEC, 0)
		}
	}
	return nil, fmt.Errorf("the sandbox has no memory file")
}
