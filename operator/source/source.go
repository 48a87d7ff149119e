// Package source fetches the projects that Stacks run, from archives that Flux stores
// and from Git repositories. The package bounds the size and the number of files of a
// project. The content is untrusted: code that reads it must not follow its links.
package source

import (
	"errors"
	"fmt"
	"net/url"
)

// ErrInvalid is in errors that no retry fixes, because the source can never be fetched;
// for example, its address has a scheme that is refused.
var ErrInvalid = errors.New("invalid source")

const (
	// maxBytes bounds the size of a project, packed and unpacked, in bytes.
	maxBytes = 100 << 20

	// maxFiles bounds the number of files and folders of a project.
	maxFiles = 20_000
)

// invalidError is an error with its own message that matches [ErrInvalid].
type invalidError string

func (e invalidError) Error() string { return string(e) }

func (invalidError) Is(target error) bool { return target == ErrInvalid }

func invalid(format string, args ...any) error {
	return invalidError(fmt.Sprintf(format, args...))
}

// shown returns an address without credentials, query and fragment.
func shown(address *url.URL) string {
	clean := *address
	clean.User, clean.RawQuery, clean.Fragment = nil, "", ""
	return clean.String()
}
