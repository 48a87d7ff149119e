package layers

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"

	engine "github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/engine/message"
)

// Plan is like Preview, and returns each change.
func (r Runner) Plan(ctx context.Context, l Layer, progress Progress) (*engine.Plan, error) {
	var log *engine.Log
	_, err := r.run(ctx, l, progress, kind{}, func(stack auto.Stack, stream chan<- events.EngineEvent, file *os.File) error {
		// A run that waits for a lock runs twice.
		log = engine.NewLog(message.NewMask())
		log.OfPreview()
		in, out := io.Pipe()
		read := make(chan error, 1)
		go func() {
			err := log.Read(in)
			in.CloseWithError(err)
			read <- err
		}()
		tee := make(chan events.EngineEvent)
		go func() {
			defer close(stream)
			encoder := json.NewEncoder(out)
			for e := range tee {
				if e.Error == nil {
					_ = encoder.Encode(e.EngineEvent) // An error of the reader ends the plan below.
				}
				stream <- e
			}
			out.Close()
		}()
		_, err := stack.Preview(ctx, optpreview.EventStreams(tee), optpreview.ProgressStreams(file), optpreview.ErrorProgressStreams(file))
		if err != nil {
			return err
		}
		return <-read
	})
	if err != nil {
		return nil, err
	}
	return log.Plan(), nil
}
