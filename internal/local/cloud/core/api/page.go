package api

import (
	"encoding/base64"
	"slices"
	"strconv"
)

// Page returns the page of a sorted list that a call requests, and the token of the next page, which is the encoded
// name of the last item on the page. A page has defaultSize items if the call sets no size, and at most maxSize items.
func Page[T any](c *Call, all []T, name func(T) string, defaultSize, maxSize int) ([]T, string, error) {
	query := c.Request.URL.Query()
	size := defaultSize
	if asked := query.Get("pageSize"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 0 {
			return nil, "", InvalidArgument("Invalid value at 'page_size' (TYPE_INT32), %q", asked)
		}
		if n > 0 {
			size = min(n, maxSize)
		}
	}
	if token := query.Get("pageToken"); token != "" {
		last, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, "", InvalidArgument("Invalid page token: %q.", token)
		}
		at := slices.IndexFunc(all, func(item T) bool { return name(item) > string(last) })
		if at < 0 {
			return nil, "", nil
		}
		all = all[at:]
	}
	if len(all) <= size {
		return all, "", nil
	}
	return all[:size], base64.RawURLEncoding.EncodeToString([]byte(name(all[size-1]))), nil
}

// The calls of Cloud Storage and Cloud SQL Admin set the length of a page by maxResults.

// maxPage is the maximum length of a page, and its length if the call does not set one.
const maxPage = 1000

// PageSize returns the length of a page from the text of maxResults.
func PageSize(text string) (int, error) {
	if text == "" {
		return maxPage, nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 {
		return 0, LegacyInvalid("Invalid value for maxResults: '%s'. Values must be within the range: [0, 2147483647]", text)
	}
	if size == 0 || size > maxPage {
		return maxPage, nil
	}
	return size, nil
}
