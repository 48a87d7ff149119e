package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/strata-platform/strata/operator/engine/message"
)

const (
	stackType = "pulumi:pulumi:Stack"

	// mostOpen bounds how many unfinished resources an [eventLog] records.
	mostOpen = 10_000

	// keptLine is the largest capacity, in bytes, of a line's buffer that read reuses for
	// the next line.
	keptLine = 1 << 20
)

// event holds the fields of an engine event that this package uses.
type event struct {
	Diagnostic *diagnostic `json:"diagnosticEvent"`
	Outputs    *struct {
		Metadata struct {
			URN  string `json:"urn"`
			Type string `json:"type"`
			New  *struct {
				Outputs json.RawMessage `json:"outputs"`
			} `json:"new"`
		} `json:"metadata"`
	} `json:"resOutputsEvent"`
	Failed *struct {
		Metadata struct {
			URN string `json:"urn"`
		} `json:"metadata"`
	} `json:"resOpFailedEvent"`
	Pre *struct {
		Metadata struct {
			URN  string `json:"urn"`
			Op   string `json:"op"`
			Type string `json:"type"`
		} `json:"metadata"`
	} `json:"resourcePreEvent"`
	Summary *struct {
		Changes map[string]int `json:"resourceChanges"`
	} `json:"summaryEvent"`
}

// diagnostic is a message from the engine, a provider or the program.
type diagnostic struct {
	URN      string `json:"urn"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

// eventLog collects what this package needs from an operation's events as they arrive.
// The size of an eventLog does not grow with the number of events.
type eventLog struct {
	mask *message.Mask

	mu sync.Mutex

	// began says that the operation has at least begun a step on a resource. The stack
	// itself and providers do not count: they exist in the state only.
	began bool

	// changes holds the counts of the last summary event.
	changes map[string]int

	// outputs holds the stack's outputs after the update.
	outputs outputs

	// open lists the URNs of unfinished resources, in the order in which the operation
	// began them.
	open []string

	faults faults
}

// read reads the events that pulumi writes, one per line. read returns an error for a
// line that is truncated or not an event, and an [*excess] if the events exceed a
// bound.
func (l *eventLog) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	total := 0
	for {
		part, err := lines.ReadSlice('\n')
		total += len(part)
		switch {
		case len(line)+len(part) > maxEvent:
			return exceeds("an event of the run is larger than %d bytes: a resource or an output is; make it smaller, or put its data elsewhere", maxEvent)
		case total > maxEvents:
			return exceeds("the events of the run are larger than %d bytes: split the stack, or let its program print less", maxEvents)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var next event
			if err := json.Unmarshal(line, &next); err != nil {
				return fmt.Errorf("decode event log: %w", err)
			}
			l.add(&next)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read event log: %w", err)
		}
		if line = line[:0]; cap(line) > keptLine {
			line = nil
		}
	}
}

func (l *eventLog) add(e *event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Diagnostic != nil {
		l.faults.add(e.Diagnostic, l.mask)
	}
	if e.Summary != nil {
		l.changes = e.Summary.Changes
	}
	if o := e.Outputs; o != nil && o.Metadata.Type == stackType && o.Metadata.New != nil {
		l.outputs = readOutputs(o.Metadata.New.Outputs)
	}
	done := ""
	switch {
	case e.Pre != nil:
		l.begin(e.Pre.Metadata.URN, e.Pre.Metadata.Op, e.Pre.Metadata.Type)
	case e.Outputs != nil:
		done = e.Outputs.Metadata.URN
	case e.Failed != nil:
		done = e.Failed.Metadata.URN
	}
	if i := slices.Index(l.open, done); i >= 0 {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

func (l *eventLog) begin(urn, op, kind string) {
	if op != "" && kind != stackType && !strings.HasPrefix(kind, "pulumi:providers:") {
		l.began = true
	}
	if op != "same" && len(l.open) < mostOpen && len(urn) <= message.Size {
		l.open = append(l.open, urn)
	}
}

// unfinished returns the names and types of the resources that the operation has begun
// and not finished, in the order in which it began them.
func (l *eventLog) unfinished() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, urn := range l.open {
		if name := resourceName(urn); name != "" {
			names = append(names, name)
		}
	}
	return names
}
