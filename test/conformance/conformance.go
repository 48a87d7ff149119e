// Package conformance states what a Stack and a Program do, as checks that run against the operator of a cluster.
package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Contract says for which operators a statement holds.
type Contract string

const (
	// Shared statements hold for every operator of the kinds, upstream's and Strata's.
	Shared Contract = "shared"

	// Own statements hold for Strata's platform and its embedded operator only.
	Own Contract = "strata"
)

// Outcome is the result of a check.
type Outcome string

const (
	// Passed means that the statement holds.
	Passed Outcome = "passed"

	// Failed means that the statement does not hold.
	Failed Outcome = "failed"

	// Skipped means that the check could not run, for example because an earlier one failed.
	Skipped Outcome = "skipped"
)

// Statement is something that must hold.
type Statement struct {
	// Name identifies the statement.
	Name string `json:"name"`

	// Contract says for which operators the statement holds.
	Contract Contract `json:"contract"`

	// Must says in one sentence what must hold.
	Must string `json:"must"`
}

// Result is the result of the check of one statement.
type Result struct {
	Statement

	// Outcome is passed, failed or skipped.
	Outcome Outcome `json:"outcome"`

	// Seen says in one line what the check saw, or why it was skipped. It may contain texts of the operator.
	Seen string `json:"seen"`

	// Seconds is the duration of the check.
	Seconds float64 `json:"seconds"`
}

// Options configure a run of the suite.
type Options struct {
	// Config reaches the cluster. Its user creates, patches and deletes Stacks, Programs, ConfigMaps and Secrets in the
	// namespace, and reads Events. Required.
	Config *rest.Config

	// Namespace is where the suite creates all its objects. Required.
	Namespace string

	// Secret is the name of a Secret in the namespace. Its keys are the environment variables that connect a run to the
	// backend of its state, as PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE do. Required.
	Secret string

	// ServiceAccount is the account of the runs. If it is empty, the Stacks name none.
	ServiceAccount string

	// SharedOnly leaves out the statements of contract [Own].
	SharedOnly bool

	// Wait is the longest wait for one change of an object. Zero means five minutes.
	Wait time.Duration

	// Parallel is how many scenes run at the same time. Zero means four.
	Parallel int

	// Begin and Report are called, one at a time, before a check begins and after it has ended. They may be nil.
	Begin  func(Statement)
	Report func(Result)
}

// suite is one run of the checks.
type suite struct {
	Options

	objects dynamic.Interface

	// id is part of the name of every object, and the value of [Label].
	id string

	// variables are the keys of Options.Secret.
	variables []string

	// team reports whether the namespace belongs to a team of a Strata platform.
	team bool

	mu      sync.Mutex
	results map[string]Result
}

// Run checks all statements and returns their results, in the order of [Statements]. It deletes all that it has created, even
// if ctx is cancelled. The error says that the suite could not run, did not finish, or has left objects behind. A statement that does
// not hold is no error.
func Run(ctx context.Context, o Options) ([]Result, error) {
	objects, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	o.Wait, o.Parallel = cmp.Or(o.Wait, 5*time.Minute), cmp.Or(o.Parallel, 4)
	s := &suite{Options: o, objects: objects, id: rand.String(5), results: map[string]Result{}}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	err = s.play(ctx)
	for _, statement := range Statements() {
		if _, done := s.results[statement.Name]; !done && (statement.Contract == Shared || !o.SharedOnly) {
			s.record(Result{Statement: statement, Outcome: Skipped, Seen: "the suite ended before"})
		}
	}
	var results []Result
	for _, statement := range Statements() {
		if result, done := s.results[statement.Name]; done {
			results = append(results, result)
		}
	}
	switch {
	case ctx.Err() != nil && err != nil:
		err = fmt.Errorf("the suite did not finish: %w; %w", context.Cause(ctx), err)
	case ctx.Err() != nil:
		err = fmt.Errorf("the suite did not finish: %w", context.Cause(ctx))
	}
	return results, err
}

// play plays the scenes. The other scenes begin after the first check of the first one: if no operator runs the first Stack,
// none of them can pass.
func (s *suite) play(ctx context.Context) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var problems []error
	slots := make(chan struct{}, s.Parallel)
	begin := func(each script, first func()) {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			one := &scene{suite: s, ctx: ctx, name: "conformance-" + s.id + "-" + each.name, first: first}
			defer one.started()
			each.play(one)
			if err := one.strike(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				problems = append(problems, err)
			}
		})
	}
	started := make(chan struct{})
	all := scripts()
	begin(all[0], func() { close(started) })
	<-started
	opening := Statements()[0]
	for _, each := range all[1:] {
		if s.outcome(opening.Name) == Passed && (!each.own || !s.SharedOnly) {
			begin(each, func() {})
		}
	}
	group.Wait()
	if s.outcome(opening.Name) == Failed {
		for _, statement := range Statements() {
			if s.outcome(statement.Name) == "" && (statement.Contract == Shared || !s.SharedOnly) {
				s.record(Result{Statement: statement, Outcome: Skipped, Seen: opening.Name + " failed"})
			}
		}
	}
	return inLine(problems...)
}

// inLine joins errors in one line.
func inLine(problems ...error) error {
	if joined := errors.Join(problems...); joined != nil {
		return errors.New(strings.ReplaceAll(joined.Error(), "\n", "; "))
	}
	return nil
}

func (s *suite) outcome(name string) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results[name].Outcome
}

// record stores and reports a result.
func (s *suite) record(result Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[result.Name] = result
	if s.Report != nil {
		s.Report(result)
	}
}

// beginning reports the beginning of a check.
func (s *suite) beginning(statement Statement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Begin != nil {
		s.Begin(statement)
	}
}

// named returns the statement of a name. It panics for an unknown name, which is a mistake in a scene.
func named(name string) Statement {
	all := Statements()
	i := slices.IndexFunc(all, func(s Statement) bool { return s.Name == name })
	if i < 0 {
		panic("unknown statement " + name)
	}
	return all[i]
}
