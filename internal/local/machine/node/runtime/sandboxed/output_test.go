package sandboxed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// stuck is a writer that blocks until the test ends.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return len(p), nil
}

func TestAClientThatReadsNothingIsDroppedAndTheContainerGoesOn(t *testing.T) {
	var log bytes.Buffer
	o, blocked := &output{}, make(stuck)
	t.Cleanup(func() { close(blocked) })
	slow, fast := o.join(), o.join()
	dropped, got := make(chan error, 1), make(chan []byte, 1)
	go func() { dropped <- o.copy(context.Background(), slow, [2]io.Writer{stdout: blocked}) }()
	writer := o.to(&log, stdout)
	chunk := bytes.Repeat([]byte("x"), 1000)
	for range 2 * maxBehind / len(chunk) {
		if _, err := writer.Write(chunk); err != nil {
			t.Fatal(err)
		}
		// The other client keeps up.
		if _, _, err := o.take(fast); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-dropped; !errors.Is(err, errSlow) {
		t.Errorf("the slow client ends with %v, want %v", err, errSlow)
	}
	if want := 2 * maxBehind / len(chunk) * len(chunk); log.Len() != want {
		t.Errorf("the log has %d bytes, want %d", log.Len(), want)
	}
	var last bytes.Buffer
	go func() {
		_ = o.copy(context.Background(), fast, [2]io.Writer{stdout: &last})
		got <- last.Bytes()
	}()
	_, _ = writer.Write([]byte("the end"))
	o.end()
	select {
	case text := <-got:
		if string(text) != "the end" {
			t.Errorf("the other client got %q", text)
		}
	case <-time.After(time.Minute):
		t.Error("the other client does not end")
	}
}

func TestAClientGetsBothStreamsInOrderUntilItLeaves(t *testing.T) {
	o := &output{}
	c := o.join()
	var all bytes.Buffer
	for i, text := range []string{"one ", "two ", "three"} {
		_, _ = o.to(io.Discard, stream(i%2)).Write([]byte(text))
	}
	o.end()
	if err := o.copy(context.Background(), c, [2]io.Writer{&all, &all}); err != nil || all.String() != "one two three" {
		t.Errorf("the client got %q, %v", all.String(), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	again := &output{}
	if err := again.copy(ctx, again.join(), [2]io.Writer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left ends with %v", err)
	}
}
