package runtime

import (
	"context"
	"errors"
	"io"
)

// These say why nobody can use a container.
var (
	// ErrNoContainer means that the pod has no container of the name.
	ErrNoContainer = errors.New("the pod has no such container")
	// ErrNotRunning means that no program of the container runs now.
	ErrNotRunning = errors.New("it is not running")
)

// Interactive is a Run whose programs can be used from outside the pod while they run. A runtime that executes no programs,
// or executes them outside a sandbox, has runs that do not implement it.
type Interactive interface {
	Run
	// Execute runs a command in the container, with the container's user, rights and variables, until the command ends. If
	// ctx ends first, Execute kills the command. Execute returns when the output has been written to c.Stdout and c.Stderr,
	// so their writers must fail when ctx ends. The error says why the command did not start.
	Execute(ctx context.Context, c Command) (Exit, error)
	// Attach connects streams with the container's first process until the process or ctx ends, or until the end of
	// s.Stdin if the container keeps its input open for others. It returns an error if a writer falls too far behind,
	// because a slow client must not delay the container.
	Attach(ctx context.Context, s Streams) error
}

// Streams are the streams of a client. A nil stream is not connected.
type Streams struct {
	Stdin io.Reader
	// Stdout and Stderr get the output. A program with a terminal writes to Stdout only.
	Stdout, Stderr io.Writer
	// Sizes delivers the sizes of the client's terminal. Programs without a terminal ignore them.
	Sizes <-chan Size
}

// Size is the size of a terminal in characters.
type Size struct{ Columns, Rows uint16 }

// Command is a command in a container.
type Command struct {
	// Args are the program and its arguments.
	Args []string
	// Terminal gives the command a terminal.
	Terminal bool
	Streams
}
