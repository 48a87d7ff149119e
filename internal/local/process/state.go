package process

import (
	"sync"
	"time"
)

// Phase is what a program does, as the status shows it.
type Phase string

// Phases of a program.
const (
	// Running: the program runs.
	Running Phase = "running"
	// Restarting: it has ended, or could not be started, and is started again soon.
	Restarting Phase = "restarting"
	// CrashLooping: it has ended crashLoop times in a row soon after its start. Each wait for the next start is longer.
	CrashLooping Phase = "crash looping"
	// Stopped: it was asked to stop.
	Stopped Phase = "stopped"
)

const (
	// crashLoop is the number of quick ends in a row that make a crash loop.
	crashLoop = 3
	// resetAfter is how long a program has to run for its end not to count as quick.
	resetAfter = time.Minute
)

// State is what is known of a program.
type State struct {
	// Name is the program's name, which `strata logs` takes too.
	Name  string `json:"name"`
	Phase Phase  `json:"state"`
	// Running says that the phase is Running.
	Running bool `json:"running"`
	// Pid and StartedAt are set while it runs.
	Pid       int       `json:"pid,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	// MemoryBytes is the resident memory of the program itself; 0 where the system does not tell.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// Restarts counts the starts after the first.
	Restarts int `json:"restarts"`
	// LastExit is the last end that nobody asked for.
	LastExit *Exit `json:"lastExit,omitempty"`
	// Log is the file that it writes to.
	Log string `json:"log"`
}

// Exit is how a program ended.
type Exit struct {
	At time.Time `json:"at"`
	// Code is as ExitCode of Process counts; -1 where the program could not be started.
	Code int `json:"code"`
	// Message names the program and says why it ended, with the essence of its log.
	Message string `json:"message"`
}

// record keeps the state of one program over its restarts.
type record struct {
	mu    sync.Mutex
	state State
	// current is the process that runs, as far as is recorded.
	current *Process
	// quick counts the quick ends in a row, begun says that there was a first start.
	quick int
	begun bool
}

func newRecord(name string, spec Spec) *record {
	return &record{state: State{Name: name, Log: spec.Log, Phase: Restarting}}
}

// start starts the program and records it.
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

// end records that the program has ended.
func (r *record) end(p *Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == p {
		r.ended(p)
	}
}

func (r *record) ended(p *Process) {
	if p.stopped.Load() {
		r.current = nil
		r.state.Phase, r.state.Pid, r.state.StartedAt = Stopped, 0, time.Time{}
		return
	}
	r.failed(p.began, Exit{Code: p.ExitCode(), Message: p.ExitError().Error()})
}

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

// stop records that the program is not started again.
func (r *record) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Phase = Stopped
}

// quickEnds is the number of quick ends in a row.
func (r *record) quickEnds() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quick
}

// process is the process that runs, or nil.
func (r *record) process() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

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
