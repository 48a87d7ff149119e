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

// received runs after git has changed branches and tags. It sends the push options and the updates to the server, and
// prints what the server says, until the server ends it by a line with a dot. Its exit code does not change the push.
const received = `#!/bin/sh
{
	env | LC_ALL=C sed -n 's/^GIT_PUSH_OPTION_[0-9]*=/option /p' | head -n 20
	echo .
	cat
	echo .
} >"$STRATA_PUSH/received" || exit 0
while IFS= read -r line; do
	case $line in
	.) exit 0 ;;
	*) printf '%s\n' "$line" >&2 ;;
	esac
done <"$STRATA_PUSH/told"
`

// hooks returns the folder of the hooks, which all repositories share.
func (s *Server) hooks() string { return filepath.Join(s.root, ".hooks") }

// installHooks writes the hooks, and removes the folders of pushes to a killed server.
func (s *Server) installHooks() error {
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
	for name, script := range map[string]string{"pre-receive": hook, "post-receive": received} {
		tmp := filepath.Join(s.hooks(), "."+name)
		if err := errors.Join(os.WriteFile(tmp, []byte(script), 0o700), os.Rename(tmp, filepath.Join(s.hooks(), name))); err != nil {
			return err
		}
	}
	return nil
}

// question passes the questions of the hooks about one push to the server, and the server's answers to the hooks. Each hook and the server communicate over two named pipes, so the
// hooks need only a shell.
type question struct {
	folder          string
	asked, answered *os.File // of the first hook
	received, told  *os.File // of the second hook
}

// newQuestion creates the folder of a question with its pipes. The caller must close the question.
func newQuestion(root string) (*question, error) {
	folder, err := os.MkdirTemp(root, ".push-*")
	if err != nil {
		return nil, err
	}
	q := &question{folder: folder}
	for name, end := range map[string]**os.File{"asked": &q.asked, "answered": &q.answered, "received": &q.received, "told": &q.told} {
		if *end, err = pipe(filepath.Join(folder, name)); err != nil {
			q.close()
			return nil, err
		}
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

// close ends the question. A hook that still waits for the first answer then rejects the push.
func (q *question) close() {
	for _, end := range []*os.File{q.asked, q.answered, q.received, q.told} {
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
var errBroken = errors.New("the hook sent a line that is not an update")

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

// tell reads the options and the updates of an accepted push, and lets reply say lines to the client. close ends tell for
// a push that never runs the hook.
func (q *question) tell(limit int, reply func(options []string, updates []update, say func(line string))) {
	from := bufio.NewReader(q.received)
	var options []string
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return
		}
		if line = strings.TrimSuffix(line, "\n"); line == "." {
			break
		}
		options = append(options, strings.TrimPrefix(line, "option "))
	}
	p := proposal{}
	if err := p.read(from, limit); err != nil {
		return
	}
	reply(options, p.updates, func(line string) { _, _ = q.told.WriteString(line + "\n") })
	_, _ = q.told.WriteString(".\n")
}

// read reads a proposal. It keeps at most limit+1 updates: one too many suffices to reject the push.
func read(from *bufio.Reader, limit int) (proposal, error) {
	objects, err := from.ReadString('\n')
	if err != nil {
		return proposal{}, err
	}
	p := proposal{objects: strings.TrimSuffix(objects, "\n")}
	return p, p.read(from, limit)
}

// read reads the updates up to a line with a dot.
func (p *proposal) read(from *bufio.Reader, limit int) error {
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		if line = strings.TrimSuffix(line, "\n"); line == "." {
			return nil
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			return errBroken
		}
		// git passes on every update that the client sends. Beyond the limit, only their number matters.
		if len(p.updates) <= limit {
			p.updates = append(p.updates, update{old: fields[0], new: fields[1], ref: fields[2]})
		}
	}
}
