// Package source fetches the projects that Stacks run: archives that Flux keeps,
// and git repositories. What it fetches is anybody's: it is bounded in size and
// number of files, and whoever reads it must not follow its links.
package source

import (
	"errors"
	"fmt"
	"net/url"
)

// ErrInvalid is in the errors that no retry mends: what was asked for can never
// be fetched, for example an address of a kind that is refused.
var ErrInvalid = errors.New("invalid source")

const (
	// maxBytes bounds the size of a project, packed and unpacked.
	maxBytes = 100 << 20

	// maxFiles bounds the number of its files and folders.
	maxFiles = 20_000
)

// invalidError is an error of [ErrInvalid]'s kind with a message of its own.
type invalidError string

func (e invalidError) Error() string { return string(e) }

func (invalidError) Is(target error) bool { return target == ErrInvalid }

func invalid(format string, args ...any) error {
	return invalidError(fmt.Sprintf(format, args...))
}

// shown returns an address without the credentials in it.
func shown(address *url.URL) string {
	clean := *address
	clean.User, clean.RawQuery, clean.Fragment = nil, "", ""
	return clean.String()
}
