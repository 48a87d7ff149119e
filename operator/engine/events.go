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
)

const (
	stackType = "pulumi:pulumi:Stack"

	// mostOpen bounds how many resources an [eventLog] knows as begun and not done.
	mostOpen = 10_000

	// keptLine is the size up to which the memory of a line is used for the next one.
	keptLine = 1 << 20
)

// event holds the parts of an engine event that matter here.
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

// diagnostic is a message of the engine, of a provider or of the program.
type diagnostic struct {
	URN      string `json:"urn"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

// eventLog gathers what matters of an operation's events as they come. Its size does
// not grow with their number.
type eventLog struct {
	mask *mask

	mu sync.Mutex

	// began tells whether anything was done about a resource, or at least begun. The
	// stack itself and providers are none: they exist in the state only.
	began bool

	// changes is the last summary of what was done.
	changes map[string]int

	// outputs are the stack's after the update.
	outputs outputs

	// open lists the URNs of the resources that were begun and are not done, in the
	// order of their beginning.
	open []string

	faults faults
}

// read reads the events that pulumi writes, one a line. A line that is cut off, or
// no event, ends it with an error; a bound that is exceeded with an [*excess].
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
	if op != "same" && len(l.open) < mostOpen && len(urn) <= messageSize {
		l.open = append(l.open, urn)
	}
}

// unfinished returns names and types of the resources that were begun and are not
// done, in the order of their beginning.
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
