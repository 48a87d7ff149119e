// Package audit attempts what each identity of a platform must not do, and reports what was refused, and by what.
package audit

import (
	"context"
	"sync"
	"time"
)

// Area is a part of the platform that refuses acts.
type Area string

// Areas in the order of the report.
const (
	RBAC      Area = "RBAC"
	Admission Area = "admission"
	IAM       Area = "IAM"
	Git       Area = "Git"
	Registry  Area = "registry"
	State     Area = "state"
	Sockets   Area = "sockets"
)

// Areas returns all areas in the order of the report.
func Areas() []Area { return []Area{RBAC, Admission, IAM, Git, Registry, State, Sockets} }

// Outcome is the end of an attempt.
type Outcome string

// Outcomes of attempts.
const (
	// Refused means that the platform answered, and the answer was no.
	Refused Outcome = "refused"
	// Allowed means that the platform allowed an act that belongs to the identity.
	Allowed Outcome = "allowed"
	// Unexpected means that the platform allowed an act that it has to refuse.
	Unexpected Outcome = "unexpectedly allowed"
	// Failed means that the attempt has no answer: a timeout, a broken connection, an error of the server. It is never a refusal.
	Failed Outcome = "failed"
	// NotAttempted means that the attempt could not be made from here, for the reason in the message.
	NotAttempted Outcome = "not attempted"
)

// Answer is what an attempt met.
type Answer struct {
	// Allowed says that the platform would have carried out the act.
	Allowed bool
	// By names the part that refused: "RBAC", "admission strata-hops", "IAM". It is empty if nothing refused.
	By string
	// Message is the answer's own text.
	Message string
	// Err is why there is no answer. Skipped is why the attempt could not be made.
	Err     error
	Skipped string
}

// Attempt is one act that one identity attempts.
type Attempt struct {
	// Identity is the name of an [Identity]. Act is the ID of the act, What describes it, and On names its object.
	Identity, Act, What, On string
	Area                    Area
	// Expected says that the act belongs to the identity. Why is the reason of the expected answer.
	Expected bool
	Why      string
	// Do makes the attempt, without changing anything.
	Do func(context.Context) Answer
}

// Result is an attempt with its end.
type Result struct {
	Identity string  `json:"identity"`
	Area     Area    `json:"area"`
	Act      string  `json:"act"`
	What     string  `json:"what"`
	On       string  `json:"on,omitempty"`
	Outcome  Outcome `json:"outcome"`
	// By names the part that refused.
	By string `json:"by,omitempty"`
	// Message is the text of the answer, the error, or the reason.
	Message string `json:"message,omitempty"`
	// Why is the reason of the expected answer.
	Why string `json:"why"`
}

// Key identifies an attempt over several audits.
func (r Result) Key() string { return r.Identity + "\x00" + r.Act + "\x00" + r.On }

// Limits of one audit.
const (
	// workers is the number of concurrent attempts.
	workers = 24
	// attemptTimeout bounds one attempt.
	attemptTimeout = 10 * time.Second
	// longestMessage is the maximum number of bytes of a message that the audit keeps.
	longestMessage = 600
)

// Run makes the attempts, several at a time, and returns their ends in the order of the attempts. An interrupt ends it with an
// error; attempts change nothing, so there is nothing to undo.
func Run(ctx context.Context, attempts []Attempt) ([]Result, error) {
	results := make([]Result, len(attempts))
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range next {
				results[i] = attempts[i].carryOut(ctx)
			}
		})
	}
	for i := range attempts {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	return results, ctx.Err()
}

func (a Attempt) carryOut(ctx context.Context) Result {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	answer := a.Do(ctx)
	result := Result{
		Identity: a.Identity, Area: a.Area, Act: a.Act, What: a.What, On: a.On, Why: a.Why,
		Outcome: Refused, By: answer.By, Message: answer.Message,
	}
	switch {
	case answer.Skipped != "":
		result.Outcome, result.By, result.Message = NotAttempted, "", answer.Skipped
	case answer.Err != nil:
		result.Outcome, result.By, result.Message = Failed, "", answer.Err.Error()
	case answer.Allowed && a.Expected:
		result.Outcome, result.By = Allowed, ""
	case answer.Allowed:
		result.Outcome, result.By = Unexpected, ""
	case answer.By == "":
		// A refusal names what refused. Without the name it is an answer that the audit does not understand.
		result.Outcome, result.Message = Failed, "the answer names nothing that refused: "+answer.Message
	}
	if len(result.Message) > longestMessage {
		result.Message = result.Message[:longestMessage]
	}
	return result
}
