package gitserver

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hook runs before git changes anything, while the objects of the push are in a quarantine folder. It sends the
// proposed updates to the server, prints the server's answer, and rejects the push unless the answer ends in "yes".
const hook = `#!/bin/sh
{ printf '%s\n' "$GIT_QUARANTINE_PATH"; cat; echo .; } >"$STRATA_PUSH/asked" || exit 1
while IFS= read -r line; do
	case $line in
	yes) exit 0 ;;
	no) exit 1 ;;
	*) printf '%s\n' "$line" >&2 ;;
	esac
done <"$STRATA_PUSH/answered"
exit 1
`

// hooks returns the folder of the hook, which all repositories share.
func (s *Server) hooks() string { return filepath.Join(s.root, ".hooks") }

// installHook writes the hook, and removes the folders of pushes to a killed server.
func (s *Server) installHook() error {
	left, err := filepath.Glob(filepath.Join(s.root, ".push-*"))
	for _, each := range left {
		err = errors.Join(err, os.RemoveAll(each))
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.hooks(), 0o700); err != nil {
		return err
	}
	tmp := filepath.Join(s.hooks(), ".pre-receive")
	if err := os.WriteFile(tmp, []byte(hook), 0o700); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(s.hooks(), "pre-receive"))
}

// question is the hook's question about one push. The hook and the server communicate over two named pipes, so the
// hook needs only a shell.
type question struct {
	folder          string
	asked, answered *os.File
}

// newQuestion creates the folder of a question with its two pipes. The caller must close the question.
func newQuestion(root string) (*question, error) {
	folder, err := os.MkdirTemp(root, ".push-*")
	if err != nil {
		return nil, err
	}
	q := &question{folder: folder}
	if q.asked, err = pipe(filepath.Join(folder, "asked")); err == nil {
		q.answered, err = pipe(filepath.Join(folder, "answered"))
	}
	if err != nil {
		q.close()
		return nil, err
	}
	return q, nil
}

// pipe creates a named pipe and opens it for reading and writing, so that neither side waits for the other to open it.
func pipe(name string) (*os.File, error) {
	if err := unix.Mkfifo(name, 0o600); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: name, Err: err}
	}
	return os.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK, 0)
}

// close ends the question. A hook that still waits for the answer then rejects the push.
func (q *question) close() {
	for _, end := range []*os.File{q.asked, q.answered} {
		if end != nil {
			_ = end.Close()
		}
	}
	_ = os.RemoveAll(q.folder)
}

// proposal is a push that git has received but not yet made visible.
type proposal struct {
	// objects is the quarantine folder of the push's objects.
	objects string
	updates []update
}

// update is the change of one branch or tag. An ID of zeros stands for a missing commit.
type update struct{ old, new, ref string }

// deletes reports whether the update deletes the branch or tag.
func (u update) deletes() bool { return strings.Trim(u.new, "0") == "" }

// errBroken means that the hook and the server disagree about the format.
var errBroken = errors.New("the hook sent a line that is no update")

// answer reads the proposal and writes the problems that judge finds. close ends answer for a push that never runs the
// hook.
func (q *question) answer(limit int, judge func(proposal) []string) {
	p, err := read(bufio.NewReader(q.asked), limit)
	if err != nil {
		return
	}
	verdict := "yes\n"
	if problems := judge(p); len(problems) > 0 {
		verdict = strings.Join(problems, "\n") + "\nno\n"
	}
	_, _ = q.answered.WriteString(verdict)
}

// read reads a proposal. It keeps at most limit+1 updates: one too many suffices to reject the push.
func read(from *bufio.Reader, limit int) (proposal, error) {
	objects, err := from.ReadString('\n')
	if err != nil {
		return proposal{}, err
	}
	p := proposal{objects: strings.TrimSuffix(objects, "\n")}
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return p, err
		}
		if line = strings.TrimSuffix(line, "\n"); line == "." {
			return p, nil
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			return p, errBroken
		}
		// git passes on every update that the client sends. Beyond the limit, only their number matters.
		if len(p.updates) <= limit {
			p.updates = append(p.updates, update{old: fields[0], new: fields[1], ref: fields[2]})
		}
	}
}
