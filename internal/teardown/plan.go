package teardown

import (
	"fmt"
	"io"
	"strings"
)

// Plan is what a teardown would do, and what would be lost by it.
type Plan struct {
	Steps []Step
	// Lost names what holds data that nobody can bring back, such as databases.
	Lost []string
	// Unknown says what could not be looked at, and how it can be; empty where all was.
	Unknown string
	// Stays says what the teardown leaves; empty where that is nothing.
	Stays string
}

// Step is one step of a Plan.
type Step struct {
	// Name is that of the step, What there is for it to do, for example "60 resources".
	Name, What string
}

// Print writes the plan for people.
func (p Plan) Print(out io.Writer) {
	width := 0
	for _, step := range p.Steps {
		if step.What != "" {
			width = max(width, len(step.Name))
		}
	}
	for n, step := range p.Steps {
		line := fmt.Sprintf("%d. %-*s  %s", n+1, width, step.Name, step.What)
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	if len(p.Lost) > 0 {
		fmt.Fprintln(out, "\nThis is lost with it")
	}
	for _, lost := range p.Lost {
		fmt.Fprintln(out, "   "+lost)
	}
	for _, text := range []string{p.Stays, p.Unknown} {
		if text != "" {
			fmt.Fprintln(out, "\n"+text)
		}
	}
}

// mostCounted is how many names Counted says.
const mostCounted = 20

// Counted is a number of things with their names, for example "2 Stacks: team-web/a, team-web/b"; "no Stacks" without any.
// Of many things the first names stand for all.
func Counted(noun string, names []string) string {
	switch len(names) {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun + ": " + names[0]
	}
	first := strings.Join(names[:min(len(names), mostCounted)], ", ")
	if more := len(names) - mostCounted; more > 0 {
		first += fmt.Sprintf(", … and %d more", more)
	}
	return fmt.Sprintf("%d %ss: %s", len(names), noun, first)
}
