package gcloud

import (
	"encoding/base64"
	"slices"
	"strconv"
)

// page cuts out of a list, which is sorted by name, the page that a call asks for, and returns the token of the next one:
// the name that ends this page, encoded. A page has usual items where the call does not say, and most at the most.
func page[T any](c *call, all []T, name func(T) string, usual, most int) ([]T, string, error) {
	query := c.request.URL.Query()
	size := usual
	if asked := query.Get("pageSize"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 0 {
			return nil, "", invalidArgument("Invalid value at 'page_size' (TYPE_INT32), %q", asked)
		}
		if n > 0 {
			size = min(n, most)
		}
	}
	if token := query.Get("pageToken"); token != "" {
		last, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, "", invalidArgument("Invalid page token: %q.", token)
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
