// Package helper is the process that runs the sandboxes. It is the root of a user namespace with one user, and the first process
// of a PID namespace, so that all sandboxes end with it.
package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/sentry"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// server serves the requests of Strata.
type server struct {
	conn   *protocol.Conn
	reaper *reaper
	runsc  *runsc

	mu   sync.Mutex
	pods map[string]*pod
	next int // the number of the next pod
}

// Serve serves requests on the connection until Strata closes it.
func Serve(connection *os.File) error {
	conn, err := protocol.NewConn(connection)
	if err != nil {
		return err
	}
	preferOOM()
	s := &server{conn: conn, reaper: newReaper(), pods: map[string]*pod{}}
	for {
		m, files, err := conn.Receive()
		if err != nil {
			return err
		}
		// Concurrently, because some requests wait for the end of a pod or a process.
		go s.answer(m, files)
	}
}

// answer handles a request and sends the response.
func (s *server) answer(m protocol.Message, files []*os.File) {
	defer protocol.CloseAll(files)
	result, out, err := s.handle(context.Background(), m, files)
	response := protocol.Message{ID: m.ID}
	if err == nil && result != nil {
		response.Body, err = json.Marshal(result)
	}
	if err != nil {
		gone := errors.Is(err, sentry.ErrGone) || errors.Is(err, protocol.ErrGone)
		var unsupported unsupportedError
		response.Error = &protocol.Failure{Text: err.Error(), Gone: gone, Unsupported: errors.As(err, &unsupported)}
		response.Body = nil
	}
	if out == nil {
		_ = s.conn.Send(response)
		return
	}
	_ = s.conn.Send(response, out)
	out.Close()
}

// handle returns the result of a request, and the file that the response carries.
func (s *server) handle(ctx context.Context, m protocol.Message, files []*os.File) (any, *os.File, error) {
	switch m.Method {
	case protocol.Hello:
		return with(m, func(r protocol.HelloRequest) (any, *os.File, error) { return s.hello(ctx, r) })
	case protocol.CreatePod:
		return with(m, func(p spec.Pod) (any, *os.File, error) { return s.createPod(ctx, p) })
	case protocol.RemovePod:
		return with(m, func(r protocol.PodRef) (any, *os.File, error) { return nil, nil, s.removePod(r.Pod) })
	case protocol.WaitPod:
		return s.onPod(m, func(p *pod) (any, *os.File, error) { <-p.ended; return nil, nil, nil })
	case protocol.PodStats:
		return s.onPod(m, func(p *pod) (any, *os.File, error) { return p.stats(ctx) })
	case protocol.Start:
		return with(m, func(r protocol.StartRequest) (any, *os.File, error) {
			p, err := s.pod(r.Pod)
			if err != nil {
				return nil, nil, err
			}
			return p.start(ctx, r.Container, files)
		})
	case protocol.Exec:
		return with(m, func(r protocol.ExecRequest) (any, *os.File, error) {
			p, err := s.pod(r.Pod)
			if err != nil {
				return nil, nil, err
			}
			return p.exec(ctx, r, files)
		})
	case protocol.Wait:
		return s.onProcess(m, func(p *pod, r protocol.ProcessRef) (any, *os.File, error) { return p.wait(r) })
	case protocol.RemoveContainer:
		return s.onProcess(m, func(p *pod, r protocol.ProcessRef) (any, *os.File, error) {
			return nil, nil, p.removeContainer(ctx, r.Container)
		})
	case protocol.Signal:
		return with(m, func(r protocol.SignalRequest) (any, *os.File, error) {
			p, err := s.pod(r.Pod)
			if err != nil {
				return nil, nil, err
			}
			return nil, nil, p.signal(ctx, r)
		})
	}
	return nil, nil, fmt.Errorf("the method %q is unknown", m.Method)
}

// with decodes the body of a request and calls f with it.
func with[T any](m protocol.Message, f func(T) (any, *os.File, error)) (any, *os.File, error) {
	var request T
	if err := json.Unmarshal(m.Body, &request); err != nil {
		return nil, nil, fmt.Errorf("decode the request %s: %w", m.Method, err)
	}
	return f(request)
}

func (s *server) onPod(m protocol.Message, f func(*pod) (any, *os.File, error)) (any, *os.File, error) {
	return with(m, func(r protocol.PodRef) (any, *os.File, error) {
		p, err := s.pod(r.Pod)
		if err != nil {
			return nil, nil, err
		}
		return f(p)
	})
}

func (s *server) onProcess(m protocol.Message, f func(*pod, protocol.ProcessRef) (any, *os.File, error)) (any, *os.File, error) {
	return with(m, func(r protocol.ProcessRef) (any, *os.File, error) {
		p, err := s.pod(r.Pod)
		if err != nil {
			return nil, nil, err
		}
		return f(p, r)
	})
}

// unsupportedError means that the system forbids a call that every sandbox needs, so no sandbox can run here.
type unsupportedError struct{ error }

// platforms are gVisor's platforms, the fastest first. The second one works where seccomp's notifications do not.
var platforms = []string{"systrap", "ptrace"}

// hello sets up the namespaces, and finds the platform that works by starting an empty sandbox.
func (s *server) hello(ctx context.Context, r protocol.HelloRequest) (any, *os.File, error) {
	if err := prepare(); err != nil {
		return nil, nil, unsupportedError{err}
	}
	if r.Runsc == "" {
		return protocol.HelloResult{}, nil, nil
	}
	var problems []string
	for _, platform := range platforms {
		s.runsc = &runsc{path: r.Runsc, platform: platform, reaper: s.reaper}
		const trial = "trial"
		_, _, err := s.createPod(ctx, spec.Pod{ID: trial})
		if err == nil {
			return protocol.HelloResult{Platform: platform}, nil, s.removePod(trial)
		}
		problems = append(problems, fmt.Sprintf("platform %s: %v", platform, err))
	}
	return nil, nil, errors.New(strings.Join(problems, "; "))
}
