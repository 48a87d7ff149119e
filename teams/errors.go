package teams

import (
	"errors"
	"strings"
)

// joined returns one error with the texts of all problems.
func joined(problems []error) error {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.Error()
	}
	return errors.New(strings.Join(texts, "; "))
}

// oneLine replaces the line breaks in the decoder's message by spaces.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
