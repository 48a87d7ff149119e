package events

import "time"

// Report calls see with the unfinished resources of the log at each interval, until the caller calls stop. Without see or an
// interval, Report does nothing.
func (l *Log) Report(every time.Duration, see func(unfinished []string)) (stop func()) {
	if see == nil || every <= 0 {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
			}
			see(l.Unfinished())
		}
	}()
	return func() {
		close(end)
		<-ended // The caller's result must not be followed by a report of unfinished resources.
	}
}
