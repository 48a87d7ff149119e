package logs

import (
	"net/url"
	"testing"
	"time"
)

func TestParseQuery(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	query, err := url.ParseQuery("follow=true&previous=true&timestamps=true&tailLines=0&limitBytes=7&sinceSeconds=60")
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseQuery(query, now)
	if err != nil {
		t.Fatal(err)
	}
	if !o.follow || !o.previous || !o.Stamps || o.Tail == nil || *o.Tail != 0 || o.Limit != 7 || !o.Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("the options are %+v", o)
	}
	o, err = parseQuery(url.Values{"sinceTime": {"2026-11-21T07:00:00Z"}}, now)
	if err != nil || !o.Since.Equal(now.Add(-time.Hour)) || o.follow || o.previous || o.Tail != nil || o.Limit != 0 {
		t.Errorf("the options are %+v (%v)", o, err)
	}
}
