// Package reencrypt encrypts the Pulumi states in a folder with another passphrase, while runs may use them.
package reencrypt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// maxStates bounds the states of one folder. The key of each takes two fifths of a second to derive.
	maxStates = 1000
	// maxBytes bounds the states that a search reads, in bytes.
	maxBytes = 1 << 30
)

// Rotation encrypts the states in the file backends below a folder. Runs of a team may write to the folder, but not to its parent.
type Rotation struct {
	Folder string
	// From and To are the former and the new passphrase.
	From, To string
	// Patience is how long to wait for a run that holds the lock of a stack.
	Patience time.Duration

	keys settings.Crypters
}

// Moved counts the states of a folder.
type Moved struct {
	// Now are the states that this call has encrypted with the new passphrase, and Before those that already were.
	Now, Before int
	// Other are the states that neither passphrase opens, as paths below the folder: a key of Cloud KMS encrypts them, or nothing.
	Other []string
}

// state is the place of a state: the folder of its backend, the project and the stack.
type state struct{ backend, project, stack, file string }

// Move encrypts all states with the new passphrase. It holds the lock of a stack while it does, removes the stack's history and old
// copies, which the former passphrase opens, and replaces the state in one step. Move can run again at any time: until it returns
// without an error, one of the two passphrases opens each state.
func (r *Rotation) Move(ctx context.Context) (Moved, error) {
	var moved Moved
	var todo []state
	count := 0
	var problem error
	err := backend.EachState(ctx, r.Folder, maxBytes, func(file string, content []byte, err error) bool {
		if count++; err == nil && count > maxStates {
			err = fmt.Errorf("there are more than %d states", maxStates)
		}
		if err != nil {
			problem = fmt.Errorf("read the state %s: %w", path.Join(r.Folder, file), err)
			return false
		}
		switch r.opens(content) {
		case r.To:
			moved.Before++
		case r.From:
			todo = append(todo, place(file))
		default:
			moved.Other = append(moved.Other, file)
		}
		return true
	})
	if errors.Is(err, fs.ErrNotExist) {
		return moved, nil
	}
	if err := errors.Join(problem, err); err != nil {
		return moved, err
	}
	root, err := os.OpenRoot(r.Folder)
	if err != nil {
		return moved, err
	}
	defer root.Close()
	for _, s := range todo {
		changed, err := r.move(ctx, root, s)
		if err != nil {
			return moved, fmt.Errorf("reencrypt the state %s: %w", path.Join(r.Folder, s.file), err)
		}
		if changed {
			moved.Now++
		}
	}
	return moved, nil
}

// opens returns the passphrase that opens a state; an empty text if neither does.
func (r *Rotation) opens(content []byte) string {
	salt, err := redact.Salt(content)
	if err != nil || salt == "" {
		return ""
	}
	for _, passphrase := range []string{r.To, r.From} {
		if _, err := r.keys.Key(passphrase, salt); err == nil {
			return passphrase
		}
	}
	return ""
}

// place returns the place of a state file. The project is "." in the layout of old versions of Pulumi.
func place(file string) state {
	rooted := "/" + file
	at := strings.LastIndex(rooted, "/"+stacks+"/")
	name := rooted[at+len("/"+stacks+"/"):]
	base, _ := backend.TrimState(file)
	stack := path.Base(base)
	return state{backend: path.Join(".", strings.TrimPrefix(rooted[:at], "/")), project: path.Dir(name), stack: stack, file: file}
}

// move encrypts one state. changed is false if another process has removed or encrypted it since.
func (r *Rotation) move(ctx context.Context, root *os.Root, s state) (changed bool, err error) {
	// Before the lock, because it takes a fifth of a second.
	by, err := settings.NewKey(ctx, r.To)
	if err != nil {
		return false, err
	}
	release, err := r.lock(ctx, root, s)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	content, err := untrusted.ReadPlain(root, s.file, backend.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if content, err = backend.Decompress(content); err != nil {
		return false, err
	}
	if r.opens(content) != r.From {
		return false, nil
	}
	content, err = redact.Reencrypt(ctx, redact.Request{State: content, Passphrase: r.From, Keys: &r.keys, Key: by})
	if err != nil {
		return false, err
	}
	if err := s.removeCopies(root); err != nil {
		return false, err
	}
	// The state itself comes last: if this process is killed before, the former passphrase opens the state, and Move moves it.
	return true, untrusted.WriteDurably(root, s.file, content)
}

// The folders of Pulumi's file backend, below the backend's own.
const (
	stacks    = ".pulumi/stacks"
	histories = ".pulumi/history"
	copies    = ".pulumi/backups"
)

// oldCopy matches what follows NAME.json in the name of an old copy of a state: .bak, and a time for the copies that
// PULUMI_DIY_BACKEND_RETAIN_CHECKPOINTS keeps. Another stack may be named NAME.json.x.
var oldCopy = regexp.MustCompile(`^(\.gz|\.zst)?(\.[0-9]+(\.bak)?|\.bak)$`)

// removeCopies removes the history and the old copies of a state.
func (s state) removeCopies(root *os.Root) error {
	var problems []error
	for _, folder := range []string{histories, copies} {
		problems = append(problems, root.RemoveAll(path.Join(s.backend, folder, s.project, s.stack)))
	}
	dir := path.Dir(s.file)
	entries, err := untrusted.List(root, dir, maxEntries)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if rest, is := strings.CutPrefix(name, s.stack+".json"); is && oldCopy.MatchString(rest) {
			problems = append(problems, root.RemoveAll(path.Join(dir, name)))
		}
	}
	return errors.Join(problems...)
}
