package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestAnInterruptAnswersTheQuestionOfDown(t *testing.T) {
	terminal, _ := io.Pipe() // nobody answers
	ctx, interrupt := context.WithCancel(t.Context())
	asked, question := io.Pipe()
	go func() {
		_, _ = bufio.NewReader(asked).ReadString(']')
		interrupt()
		_, _ = io.Copy(io.Discard, asked)
	}()
	err := options(streams{in: terminal, out: io.Discard, err: question}).Confirm(ctx, "Destroy it?")
	if err == nil || err.Error() != "not confirmed: nothing was changed" {
		t.Errorf("the error of the interrupted question is %v", err)
	}
}

// interruptedVariable makes this test program a process that survives an interrupt. Its value says whether it is patient.
const interruptedVariable = "STRATA_TEST_INTERRUPTED"

func TestASecondInterruptKillsTheProcess(t *testing.T) {
	if value := os.Getenv(interruptedVariable); value != "" {
		ctx, stop := interruptible(value == "patient")
		defer stop()
		os.Stdout.WriteString("begun\n")
		<-ctx.Done()
		os.Stdout.WriteString("interrupted\n")
		// A patient process ends by itself once its input is closed.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	for _, kind := range []string{"impatient", "patient"} {
		t.Run(kind, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestASecondInterruptKillsTheProcess$")
			command.Env = append(os.Environ(), interruptedVariable+"="+kind)
			input, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(output)
			for _, want := range []string{"begun", "interrupted"} {
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("the process prints %q, want %q", lines.Text(), want)
				}
				if err := command.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			if kind == "patient" {
				input.Close()
			}
			// The process prints this a moment before the next interrupt becomes final.
			ended := make(chan struct{})
			go func() {
				for {
					select {
					case <-ended:
						return
					case <-time.After(10 * time.Millisecond):
						_ = command.Process.Signal(os.Interrupt)
					}
				}
			}()
			err = command.Wait()
			close(ended)
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT //nolint:forcetypeassert // true on Unix
			if killed == (kind == "patient") {
				t.Errorf("after the second interrupt the %s process ends with %v", kind, err)
			}
		})
	}
}
