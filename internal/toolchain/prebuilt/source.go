package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// stalled is how long a server may send nothing before the connection counts as broken.
	stalled = time.Minute
	// mostAttempts is the number of connections in a row that may bring no data.
	mostAttempts = 5
	// pause is the wait before the second attempt. It doubles with each one.
	pause = time.Second
)

// Open opens the bundle at source: a URL (http or https), a file, or a folder or URL of a folder that contains the file name.
// After a broken connection, reading continues with a new one.
func Open(ctx context.Context, source, name string) (io.ReadCloser, error) {
	if scheme, _, ok := strings.Cut(source, "://"); ok {
		u, err := url.Parse(source)
		if err != nil || u.Host == "" || scheme != "http" && scheme != "https" {
			return nil, errors.New("it is neither an http or https URL, nor a file or folder")
		}
		if !strings.HasSuffix(u.Path, Extension) {
			u = u.JoinPath(name)
		}
		return openURL(ctx, u, stalled, pause)
	}
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		source = filepath.Join(source, name)
	}
	return openFile(source)
}

// openFile opens a regular file. It never waits for the writer of a pipe.
func openFile(name string) (io.ReadCloser, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Printable returns a source without passwords and tokens, for messages.
func Printable(source string) string {
	scheme, _, ok := strings.Cut(source, "://")
	if !ok {
		return source
	}
	u, err := url.Parse(source)
	if err != nil {
		return scheme + "://..."
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// A remote reads a file from a server, over as many connections as it takes.
type remote struct {
	ctx     context.Context
	url     *url.URL
	stalled time.Duration
	pause   time.Duration

	body   io.ReadCloser // nil if there is no connection
	cancel context.CancelFunc
	watch  *time.Timer
	offset int64 // bytes returned so far
	skip   int64 // bytes of the body before the offset, which the server sends again
	failed int   // connections in a row that brought no data
}

func openURL(ctx context.Context, u *url.URL, stalled, pause time.Duration) (io.ReadCloser, error) {
	r := &remote{ctx: ctx, url: u, stalled: stalled, pause: pause}
	if err := r.connect(); err != nil {
		return nil, err
	}
	return r, nil
}

// Read implements io.Reader.
func (r *remote) Read(p []byte) (int, error) {
	for {
		var n int
		err := errors.New("no connection")
		if r.body != nil {
			r.watch.Reset(r.stalled)
			n, err = r.body.Read(p)
			repeated := int(min(r.skip, int64(n)))
			n = copy(p, p[repeated:n])
			r.skip -= int64(repeated)
			r.offset += int64(n)
		}
		switch {
		case n > 0:
			r.failed = 0
			return n, nil // The next call returns the error, if it stays.
		case err == nil && len(p) > 0:
			continue
		case err == nil, errors.Is(err, io.EOF) && r.skip == 0:
			return 0, err
		}
		if err := r.again(err); err != nil {
			return 0, err
		}
	}
}

// again connects again, after a pause, or returns an error if that is useless.
func (r *remote) again(broken error) error {
	r.disconnect()
	for {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if r.failed++; r.failed >= mostAttempts {
			return fmt.Errorf("the connection broke after %d bytes, and %d attempts to continue failed (%w): run the command again", r.offset, mostAttempts-1, broken)
		}
		timer := time.NewTimer(r.pause << (r.failed - 1))
		select {
		case <-r.ctx.Done():
			timer.Stop()
			return context.Cause(r.ctx)
		case <-timer.C:
		}
		refused := (*refusedError)(nil)
		switch err := r.connect(); {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.code < http.StatusInternalServerError:
			return err
		default:
			broken = err
		}
	}
}

// refusedError is the answer of a server that does not send the file.
type refusedError struct {
	code int
	text string
}

func (e *refusedError) Error() string { return "the server answers " + e.text }

// connect requests the rest of the file.
func (r *remote) connect() error {
	ctx, cancel := context.WithCancel(r.ctx)
	watch := time.AfterFunc(r.stalled, cancel)
	body, err := r.request(ctx)
	if err != nil {
		watch.Stop()
		defer cancel()
		switch {
		case r.ctx.Err() != nil:
			return context.Cause(r.ctx)
		case ctx.Err() != nil:
			return fmt.Errorf("the server sends nothing for %s", r.stalled)
		}
		return err
	}
	r.body, r.cancel, r.watch = body, cancel, watch
	return nil
}

// request sends the request and returns the body, from the offset on.
func (r *remote) request(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	r.skip = 0
	if r.offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", r.offset))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		// The client's own error repeats the URL, with its tokens.
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, err
	}
	switch {
	case r.offset > 0 && response.StatusCode == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", r.offset)):
		return response.Body, nil
	case response.StatusCode == http.StatusOK:
		r.skip = r.offset // The server sends the file from its beginning.
		return response.Body, nil
	}
	_ = response.Body.Close()
	return nil, &refusedError{response.StatusCode, response.Status}
}

func (r *remote) disconnect() {
	if r.body != nil {
		_ = r.body.Close()
		r.cancel()
		r.watch.Stop()
		r.body = nil
	}
}

// Close implements io.Closer.
func (r *remote) Close() error {
	r.disconnect()
	return nil
}
