package teardown

import (
	"fmt"
	"io"
	"strings"
)

// Plan describes the steps of a teardown and the data that it would lose.
type Plan struct {
	Steps []Step
	// Lost lists resources with irreplaceable data, such as databases.
	Lost []string
	// Unknown names the data that could not be read, and how to read it; empty if all was read.
	Unknown string
	// Stays names the data that the teardown keeps; empty for none.
	Stays string
}

// Step is one step of a Plan.
type Step struct {
	// Name is the name of the step. What describes its work, for example "60 resources".
	Name, What string
}

// Print prints the plan as text.
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
		fmt.Fprintln(out, "\nThis data is lost")
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

// mostCounted is the maximum number of names in the result of Counted.
const mostCounted = 20

// Counted returns a number of things with their names, for example "2 Stacks: team-web/a, team-web/b", or "no Stacks". It
// lists only the first names of a long list.
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
