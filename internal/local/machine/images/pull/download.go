package pull

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

const (
	// attempts bounds the requests for a blob that bring no new byte. A request that brings some restarts the count.
	attempts = 4
	// pause is the time between two requests for a blob, and silence the longest time without a byte.
	pause, silence = 200 * time.Millisecond, time.Minute
)

// download is a blob that is being downloaded.
type download struct {
	*remote
	want v1.Descriptor
	file *os.File
	hash hash.Hash
	have int64
	// count receives the progress, which is negative after a restart.
	count func(int64)
}

// blob downloads a blob into the store, and continues an interrupted download.
func (r *remote) blob(ctx context.Context, d v1.Descriptor, count func(int64)) error {
	if found, err := r.puller.Store.Keep(ctx, d.Digest); found || err != nil {
		count(d.Size)
		return err
	}
	file, err := r.puller.Store.Take(ctx, d.Digest.Hex)
	if err != nil {
		return err
	}
	l := &download{remote: r, want: d, file: file, hash: sha256.New(), count: count}
	// Another process may have completed the blob before Take returned.
	found, err := r.puller.Store.Keep(ctx, d.Digest)
	if found || err != nil {
		l.drop()
		count(d.Size)
		return err
	}
	if err := l.complete(ctx); err != nil {
		// Only a download that can continue stays on the disk.
		if kind := fault.Of(err); kind == fault.Corrupt || kind == fault.NoSpace || kind == fault.NotFound {
			l.drop()
		}
		file.Close()
		return err
	}
	return r.puller.Store.Commit(file, d.Digest)
}

// drop deletes the unfinished file. The name first: a process that waits for the file then creates a new one.
func (l *download) drop() {
	os.Remove(l.file.Name())
	l.file.Close()
}

// complete downloads the missing part and checks the digest of all.
func (l *download) complete(ctx context.Context) error {
	if err := l.resume(); err != nil {
		return err
	}
	resumed := l.have > 0
	if err := l.rest(ctx); err != nil {
		return err
	}
	if resumed && !l.matches() {
		// A power failure may have damaged the part on the disk.
		if err := l.restart(); err != nil {
			return err
		}
		if err := l.rest(ctx); err != nil {
			return err
		}
	}
	if !l.matches() {
		return l.lie("the content of blob %s has another digest", l.want.Digest)
	}
	return nil
}

// matches reports whether the file has the wanted digest.
func (l *download) matches() bool { return hex.EncodeToString(l.hash.Sum(nil)) == l.want.Digest.Hex }

// rest sends requests until the file has the wanted size.
func (l *download) rest(ctx context.Context) error {
	// The furthest byte, because a registry that cannot continue a download makes each request begin again.
	furthest := l.have
	for failed := 0; l.have < l.want.Size; {
		err := l.request(ctx)
		if err == nil {
			continue
		}
		if l.have > furthest {
			furthest, failed = l.have, 0
		}
		if failed++; failed == attempts || fault.Of(err) != fault.Unavailable || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// resume hashes the part that an earlier attempt has written.
func (l *download) resume() error {
	n, err := io.Copy(l.hash, l.file)
	if err != nil {
		return fmt.Errorf("%s: continue the download: %w", l.object(), err)
	}
	l.have = n
	l.count(n)
	if n > l.want.Size {
		return l.restart()
	}
	return nil
}

// restart empties the file.
func (l *download) restart() error {
	l.count(-l.have)
	l.have = 0
	l.hash.Reset()
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.Seek(0, io.SeekStart)
	return err
}

// request sends one request for the missing part and writes the answer to the file.
func (l *download) request(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() {
		cancel(fault.New(fault.Unavailable, l.object(), "the registry sends nothing for %s", silence))
	})
	defer watchdog.Stop()
	header := http.Header{}
	if l.have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", l.have))
	}
	response, err := l.get(ctx, "blobs/"+l.want.Digest.String(), header, http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if l.have > 0 && (response.StatusCode != http.StatusPartialContent ||
		!strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", l.have))) {
		if err := l.restart(); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fault.New(fault.Unavailable, l.object(), "the registry cannot continue a download")
		}
	}
	if response.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return l.lie("the registry rejects a request for all of blob %s", l.want.Digest)
	}
	return l.copy(ctx, response.Body, watchdog)
}

// copy appends the answer to the file.
func (l *download) copy(ctx context.Context, body io.Reader, watchdog *time.Timer) error {
	out := l.puller.Store.Writer(l.object(), l.file)
	buffer := make([]byte, 1<<17)
	for {
		n, err := body.Read(buffer)
		watchdog.Reset(silence)
		if l.have+int64(n) > l.want.Size {
			return l.lie("blob %s has more than the %d bytes of the manifest", l.want.Digest, l.want.Size)
		}
		if _, err := out.Write(buffer[:n]); err != nil {
			return store.Explain(l.object(), err)
		}
		l.hash.Write(buffer[:n])
		l.have += int64(n)
		l.count(int64(n))
		switch {
		case errors.Is(err, io.EOF) && l.have < l.want.Size:
			return fault.New(fault.Unavailable, l.object(), "the registry ended the download of blob %s after %d of %d bytes", l.want.Digest, l.have, l.want.Size)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return l.explain(ctx, err)
		}
	}
}
