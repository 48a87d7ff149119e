package logs

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// query holds the options of a request for a log.
type query struct {
	logfile.Options
	follow, previous bool
}

// parseQuery parses the options in the API server's form (Kubernetes, PodLogOptions).
func parseQuery(q url.Values, now time.Time) (o query, err error) {
	number := func(name string) (value int64) {
		if text := q.Get(name); text != "" && err == nil {
			var unsigned uint64
			if unsigned, err = strconv.ParseUint(text, 10, 63); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			value = int64(unsigned)
		}
		return value
	}
	flag := func(name string) (value bool) {
		if text := q.Get(name); text != "" && err == nil {
			if value, err = strconv.ParseBool(text); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		return value
	}
	o.follow, o.previous, o.Stamps = flag("follow"), flag("previous"), flag("timestamps")
	o.Limit = number("limitBytes")
	if q.Has("tailLines") {
		tail := number("tailLines")
		o.Tail = &tail
	}
	if seconds := number("sinceSeconds"); seconds > 0 {
		o.Since = now.Add(-time.Duration(seconds) * time.Second)
	}
	if text := q.Get("sinceTime"); text != "" && err == nil {
		if o.Since, err = time.Parse(time.RFC3339, text); err != nil {
			err = fmt.Errorf("sinceTime: %w", err)
		}
	}
	return o, err
}
