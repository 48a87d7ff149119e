// Package gittree reads the trees of commits from a Git repository as file systems, without a checkout. It bounds what it reads,
// because a repository of a few kilobytes can contain trees of any size.
package gittree

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// Objects reads objects by ID, by two long-running git processes. It is not safe for concurrent use.
type Objects struct {
	contents, sizes *reader
	trees           map[string]folder
	// held is the number of entries in trees.
	held int
	// files is the number of files at which total stops to add.
	files int
	// totals holds the totals of the visited trees.
	totals map[string]Total
}

// Git returns a git command for the repository. The processes end with ctx.
type Git func(ctx context.Context, args ...string) *exec.Cmd

// Open starts the git processes. Total stops to add at this number of files. The caller must close the objects.
func Open(ctx context.Context, git Git, files int) (*Objects, error) {
	o := &Objects{files: files, trees: map[string]folder{}, totals: map[string]Total{}}
	var err error
	if o.contents, err = openReader(git(ctx, "cat-file", "--batch")); err != nil {
		return nil, err
	}
	if o.sizes, err = openReader(git(ctx, "cat-file", "--batch-check")); err != nil {
		o.contents.close()
		return nil, err
	}
	return o, nil
}

// Close ends the git processes.
func (o *Objects) Close() {
	o.contents.close()
	o.sizes.close()
}

// TreeOf returns the tree of a commit or of a tag of a commit, and "" for other objects.
func (o *Objects) TreeOf(id string) (string, error) {
	if _, kind, _, err := o.sizes.ask(id + "^{commit}"); err != nil || kind != "commit" {
		return "", err
	}
	tree, _, _, err := o.sizes.ask(id + "^{tree}")
	return tree, err
}

// largestTree is the maximum size in bytes of a tree object, which is held in memory.
const largestTree = 4 << 20

// folder holds the entries of a tree, in order and by name.
type folder struct {
	entries []entry
	named   map[string]entry
}

// tree returns the entries of a tree.
func (o *Objects) tree(id string) (folder, error) {
	if known, ok := o.trees[id]; ok {
		return known, nil
	}
	content, err := o.content(id, largestTree)
	if err != nil {
		return folder{}, err
	}
	entries, err := parseTree(content)
	if err != nil {
		return folder{}, fmt.Errorf("read the tree %s: %w", id, err)
	}
	// A history can hold many versions of a large folder.
	if o.held += len(entries); o.held > maxHeld {
		o.held = len(entries)
		clear(o.trees)
	}
	made := folder{entries: entries, named: make(map[string]entry, len(entries))}
	for _, each := range entries {
		made.named[each.name] = each
	}
	o.trees[id] = made
	return made, nil
}

// maxHeld is the maximum number of entries that stay in memory.
const maxHeld = 200_000

// content returns the content of an object. For an object of more than limit bytes it returns a refusal.
func (o *Objects) content(id string, limit int64) ([]byte, error) {
	if _, _, size, err := o.sizes.ask(id); err != nil || size > limit {
		if err == nil {
			err = tooMuch("the object %.10s has %d bytes; the maximum is %d", id, size, limit)
		}
		return nil, err
	}
	_, kind, size, err := o.contents.ask(id)
	if err != nil || kind == "missing" {
		return nil, fmt.Errorf("read the object %s: %w", id, err)
	}
	content := make([]byte, size+1) // a newline follows
	_, err = io.ReadFull(o.contents.output, content)
	return content[:size], err
}

// Total holds the number and the sizes in bytes of a tree's files after a checkout.
type Total struct {
	Files          int
	Bytes, Largest int64
}

// LimitError is the error of a tree or a file that is too large to read.
type LimitError struct{ reason string }

// Error says what is too large, and how large it may be.
func (e *LimitError) Error() string { return e.reason }

func tooMuch(format string, args ...any) error { return &LimitError{fmt.Sprintf(format, args...)} }

// maxDepth is the maximum depth of nested folders.
const maxDepth = 100

// Total adds up a tree. The sums of a tree with more files than the limit of Open are incomplete.
func (o *Objects) Total(tree string) (Total, error) { return o.total(tree, 0) }

// total adds up a tree and visits each subtree only once. A tree may contain another ten times, which contains another
// ten times, and so on: such trees unpack to more than any disk holds.
func (o *Objects) total(id string, depth int) (Total, error) {
	if known, ok := o.totals[id]; ok {
		return known, nil
	}
	if depth > maxDepth {
		return Total{}, tooMuch("its folders are nested more than %d deep", maxDepth)
	}
	tree, err := o.tree(id)
	if err != nil {
		return Total{}, err
	}
	var sum Total
	for _, each := range tree.entries {
		if sum.Files > o.files {
			break
		}
		more := Total{Files: 1}
		switch {
		case each.isFolder():
			if more, err = o.total(each.id, depth+1); err != nil {
				return Total{}, err
			}
			more.Files++
		case !each.isModule():
			if _, _, more.Bytes, err = o.sizes.ask(each.id); err != nil {
				return Total{}, err
			}
			more.Largest = more.Bytes
		}
		const enough = 1 << 40
		sum = Total{
			Files: min(sum.Files+more.Files, enough), Bytes: min(sum.Bytes+more.Bytes, enough), Largest: max(sum.Largest, more.Largest),
		}
	}
	o.totals[id] = sum
	return sum, nil
}

// reader is a git cat-file process.
type reader struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// openReader starts a git cat-file process.
func openReader(command *exec.Cmd) (*reader, error) {
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &reader{command: command, input: input, output: bufio.NewReader(output)}, command.Start()
}

func (r *reader) close() {
	_ = r.input.Close()
	_ = r.command.Process.Kill()
	_ = r.command.Wait()
}

// ask returns the ID, the type and the size of an object. The type of an object that does not exist is "missing".
func (r *reader) ask(name string) (id, kind string, size int64, err error) {
	if _, err := fmt.Fprintln(r.input, name); err != nil {
		return "", "", 0, fmt.Errorf("read the object %s: %w", name, err)
	}
	line, err := r.output.ReadString('\n')
	if err != nil {
		return "", "", 0, fmt.Errorf("read the object %s: %w", name, err)
	}
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return "", "missing", 0, nil
	}
	size, err = strconv.ParseInt(fields[2], 10, 64)
	return fields[0], fields[1], size, err
}

// entry is an entry of a tree.
type entry struct{ mode, name, id string }

func (e entry) isFolder() bool { return e.mode == "40000" }
func (e entry) isLink() bool   { return e.mode == "120000" }

// isModule reports whether the entry is a submodule: a commit of another repository. The
// teams' GitRepositories fetch no submodules.
func (e entry) isModule() bool { return e.mode == "160000" }

// parseTree parses the entries of a tree, each in the form "MODE NAME\0ID".
func parseTree(content []byte) ([]entry, error) {
	const idSize = 20
	var entries []entry
	for len(content) > 0 {
		mode, rest, found := bytes.Cut(content, []byte(" "))
		name, rest, ended := bytes.Cut(rest, []byte{0})
		if !found || !ended || len(rest) < idSize {
			return nil, fmt.Errorf("the tree is damaged after %d entries", len(entries))
		}
		entries = append(entries, entry{mode: strings.TrimLeft(string(mode), "0"), name: string(name), id: hex.EncodeToString(rest[:idSize])})
		content = rest[idSize:]
	}
	return entries, nil
}
