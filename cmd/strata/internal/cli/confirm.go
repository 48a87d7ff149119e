package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// CanAnswer returns a usage error if the standard input is not a terminal.
func (o Options) CanAnswer() error {
	if f, ok := o.In.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return o.Usage(errors.New("the standard input is not a terminal, so you cannot confirm: add --yes"))
		}
	}
	return nil
}

// Confirm asks a question on a terminal. Without a terminal it returns an error, because nobody could answer. An interrupt
// counts as a no.
func (o Options) Confirm(ctx context.Context, question string) error {
	if err := o.CanAnswer(); err != nil {
		return err
	}
	fmt.Fprintf(o.Err, "%s [y/N] ", question)
	// A read cannot be interrupted, so it runs beside the wait. The buffer lets the goroutine end after an interrupt.
	yes := make(chan bool, 1)
	go func() {
		answer, err := bufio.NewReader(o.In).ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		yes <- err == nil && (answer == "y" || answer == "yes")
	}()
	select {
	case is := <-yes:
		if is && ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(o.Err)
	}
	return errors.New("not confirmed: nothing was changed")
}
