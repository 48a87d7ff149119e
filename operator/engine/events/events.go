// Package events reads the event log of one operation of Pulumi.
package events

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

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/message"
)

const (
	// maxEvent bounds the size of an event, and maxEvents that of all events of an
	// operation, in bytes. An event holds up to four copies of a resource. A resource that
	// Kubernetes stores has at most 1.5 MB.
	maxEvent  = 16 << 20
	maxEvents = 256 << 20

	// stackType is the type of the stack itself among its resources.
	stackType = "pulumi:pulumi:Stack"

	// mostOpen bounds how many unfinished resources a [Log] records.
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
			outcome
			New *struct {
				named
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

// Log collects the outputs, counts, faults and unfinished resources of an operation from
// its events as they arrive. The size of a Log does not grow with the number of events.
type Log struct {
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

	changed changed

	// refreshes says that the log is that of a refresh, whose differences drift collects.
	refreshes bool
	drift     drift

	// previews says that the log is that of a preview, whose steps plan collects.
	previews bool
	plan     Plan
	doomed   doomed
}

// OfRefresh makes the Log collect what [Log.Drift] returns. Call OfRefresh before Read.
func (l *Log) OfRefresh() { l.refreshes = true }

// NewLog returns an empty Log. mask hides secrets in the faults.
func NewLog(mask *message.Mask) *Log { return &Log{mask: mask} }

// Read reads the events that pulumi writes, one per line. Read returns an error for a
// line that is truncated or not an event, and a [*bounds.Error] if the events exceed a
// bound.
func (l *Log) Read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	total := 0
	for {
		part, err := lines.ReadSlice('\n')
		total += len(part)
		switch {
		case len(line)+len(part) > maxEvent:
			return bounds.Exceeded("an event of the run is larger than %d bytes: make the resource or output smaller, or put its data elsewhere", maxEvent)
		case total > maxEvents:
			return bounds.Exceeded("the events of the run are larger than %d bytes: split the stack, or make its program print less", maxEvents)
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
			var err error
			switch {
			case l.refreshes && next.Outputs != nil:
				err = l.addDrift(line)
			case l.previews && next.Pre != nil:
				err = l.addPlanned(line)
			}
			if err != nil {
				return fmt.Errorf("decode event log: %w", err)
			}
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

// add records one event. A resource is open from its first event until its outputs or its failure.
func (l *Log) add(e *event) {
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
		id := ""
		if e.Outputs.Metadata.New != nil {
			id = e.Outputs.Metadata.New.ID
		}
		l.changed.note(e.Outputs.Metadata.outcome, id)
	case e.Failed != nil:
		done = e.Failed.Metadata.URN
	}
	if i := slices.Index(l.open, done); i >= 0 {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

func (l *Log) begin(urn, op, kind string) {
	if op != "" && kind != stackType && !strings.HasPrefix(kind, "pulumi:providers:") {
		l.began = true
	}
	if op != "same" && len(l.open) < mostOpen && len(urn) <= message.Size {
		l.open = append(l.open, urn)
	}
}

// Began reports whether the operation has at least begun a step on a resource. Call Began
// after Read has returned.
func (l *Log) Began() bool { return l.began }

// Changes returns the number of resources by the step that Pulumi took. Call Changes after
// Read has returned.
func (l *Log) Changes() map[string]int { return l.changes }

// Outputs returns the stack's outputs by name, except those that contain an unknown value.
// If the outputs cannot be recorded, Outputs returns nil and the reason, which is empty
// otherwise. Call Outputs after Read has returned.
func (l *Log) Outputs() (values map[string]Output, fault string) {
	return l.outputs.values, l.outputs.fault
}

// Unfinished returns the names and types of the resources that the operation has begun
// and not finished, in the order in which it began them.
func (l *Log) Unfinished() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, urn := range l.open {
		if name := ResourceName(urn); name != "" {
			names = append(names, name)
		}
	}
	return names
}
