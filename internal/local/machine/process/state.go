package process

import (
	"sync"
	"time"
)

// Phase is the phase of a program in the status.
type Phase string

// These are the phases of a program.
const (
	// Running means that the program runs.
	Running Phase = "running"
	// Restarting means that the program has ended or failed to start, and restarts soon.
	Restarting Phase = "restarting"
	// CrashLooping means that the program has ended crashLoop times in a row soon after its start. Each delay before
	// the next start is longer.
	CrashLooping Phase = "crash looping"
	// Stopped means that the program was asked to stop.
	Stopped Phase = "stopped"
)

const (
	// crashLoop is the number of quick ends in a row that are a crash loop.
	crashLoop = 3
	// resetAfter is how long a program must run before its end no longer counts as quick.
	resetAfter = time.Minute
)

// State describes a program.
type State struct {
	// Name is the program's name, which `strata logs` accepts too.
	Name  string `json:"name"`
	Phase Phase  `json:"state"`
	// Running is true in the phase Running.
	Running bool `json:"running"`
	// Pid and StartedAt are set while it runs.
	Pid       int       `json:"pid,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	// MemoryBytes is the resident memory of the program without its children, or 0 if the system does not report it.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// Restarts counts the starts after the first.
	Restarts int `json:"restarts"`
	// LastExit is the last exit without a request to stop.
	LastExit *Exit `json:"lastExit,omitempty"`
	// Log is the path of the program's log.
	Log string `json:"log"`
}

// Exit describes the end of a program.
type Exit struct {
	At time.Time `json:"at"`
	// Code is the exit code as in Process.ExitCode, or -1 if the program failed to start.
	Code int `json:"code"`
	// Message names the program and the reason for its end, with the essence of its log.
	Message string `json:"message"`
}

// record keeps the state of one program over its restarts.
type record struct {
	mu    sync.Mutex
	state State
	// current is the process that runs, or that has ended without a call of end; nil otherwise.
	current *Process
	// quick counts the quick ends in a row. begun says that the program has been started before.
	quick int
	begun bool
}

// newRecord returns the record of a program that has not started yet.
func newRecord(name string, spec Spec) *record {
	return &record{state: State{Name: name, Log: spec.Log, Phase: Restarting}}
}

// start starts the program and records the result.
func (r *record) start(spec Spec) (*Process, error) {
	p, err := Start(spec)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		r.ended(r.current)
	}
	if r.begun {
		r.state.Restarts++
	}
	if err != nil {
		r.failed(time.Now(), Exit{Code: -1, Message: err.Error()})
		return nil, err
	}
	r.current, r.begun = p, true
	r.state.Phase, r.state.Pid, r.state.StartedAt = Running, p.Pid(), p.began
	return p, nil
}

// end records the end of the program.
func (r *record) end(p *Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == p {
		r.ended(p)
	}
}

// ended records the end of the current process. The caller must hold the lock.
func (r *record) ended(p *Process) {
	if p.stopped.Load() {
		r.current = nil
		r.state.Phase, r.state.Pid, r.state.StartedAt = Stopped, 0, time.Time{}
		return
	}
	r.failed(p.began, Exit{Code: p.ExitCode(), Message: p.ExitError().Error()})
}

// failed records the end of a program that began at a time, or its failed start. The caller must hold the lock.
func (r *record) failed(began time.Time, exit Exit) {
	exit.At = time.Now()
	if exit.At.Sub(began) > resetAfter {
		r.quick = 0
	}
	r.quick++
	r.current = nil
	r.state.Phase, r.state.Pid, r.state.StartedAt, r.state.LastExit = Restarting, 0, time.Time{}, &exit
	if r.quick >= crashLoop {
		r.state.Phase = CrashLooping
	}
}

// stop records that the program does not restart.
func (r *record) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Phase = Stopped
}

// quickEnds returns the number of quick ends in a row.
func (r *record) quickEnds() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quick
}

// process returns the running process, or nil.
func (r *record) process() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// get returns the state with the program's memory.
func (r *record) get() State {
	r.mu.Lock()
	s := r.state
	r.mu.Unlock()
	s.Running = s.Phase == Running
	if s.Pid != 0 {
		s.MemoryBytes = Memory(s.Pid)
	}
	return s
}
