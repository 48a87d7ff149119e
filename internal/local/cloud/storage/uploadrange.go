package storage

import (
	"regexp"
	"strconv"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// contentRange is the range of bytes that a request adds to an upload: "bytes 0-9/20", "bytes 0-9/*", or "bytes */20"
// for none. Missing numbers are -1.
type contentRange struct{ first, total int64 }

var contentRanges = regexp.MustCompile(`^bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)$`)

// parseContentRange parses the header Content-Range of a part.
func parseContentRange(c *api.Call) (contentRange, error) {
	header := c.Request.Header.Get("Content-Range")
	if header == "" {
		return contentRange{first: 0, total: c.Request.ContentLength}, nil
	}
	match := contentRanges.FindStringSubmatch(header)
	if match == nil {
		return contentRange{}, api.LegacyInvalid("Failed to parse Content-Range header: %q.", header)
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return contentRange{first: number(match[1]), total: number(match[3])}, nil
}
