package gitserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// command returns a git command that sees the objects of the push and of the repository.
func (j *judgement) command(ctx context.Context, args ...string) *exec.Cmd {
	limits := []string{"-c", bounded, "sh", strconv.Itoa(max(int(j.Limits.Check.Seconds()), 1)), strconv.FormatInt(j.Limits.Memory>>10, 10)}
	command := exec.CommandContext(ctx, "/bin/sh", append(append(limits, j.git), args...)...)
	command.Env = append(j.hermetic(), "GIT_DIR="+j.folder(j.repository),
		"GIT_OBJECT_DIRECTORY="+j.proposal.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(j.folder(j.repository), "objects"))
	return command
}

// objects reads objects by ID, by two long-running git processes.
type objects struct {
	contents, sizes *reader
	trees           map[string]folder
	// held is the number of entries in trees.
	held int
	// files is the number of files at which total stops to add.
	files int
	// totals holds the totals of the visited trees.
	totals map[string]total
}

// openObjects starts the git processes. files bounds the totals. The caller must close the objects.
func openObjects(ctx context.Context, git func(context.Context, ...string) *exec.Cmd, files int) (*objects, error) {
	o := &objects{files: files, trees: map[string]folder{}, totals: map[string]total{}}
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

// close ends the git processes.
func (o *objects) close() {
	o.contents.close()
	o.sizes.close()
}

// treeOf returns the tree of a commit or of a tag of a commit, and "" for other objects.
func (o *objects) treeOf(id string) (string, error) {
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
func (o *objects) tree(id string) (folder, error) {
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
func (o *objects) content(id string, limit int64) ([]byte, error) {
	if _, _, size, err := o.sizes.ask(id); err != nil || size > limit {
		if err == nil {
			err = refuse("the object %.10s has %d bytes; the maximum is %d", id, size, limit)
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

// total holds the number and the size of a tree's files after a checkout.
type total struct {
	files          int
	bytes, largest int64
}

// maxDepth is the maximum depth of nested folders.
const maxDepth = 100

// total adds up a tree and visits each subtree only once. A tree may contain another ten times, which contains another
// ten times, and so on: such trees unpack to more than any disk holds.
func (o *objects) total(id string, depth int) (total, error) {
	if known, ok := o.totals[id]; ok {
		return known, nil
	}
	if depth > maxDepth {
		return total{}, refuse("its folders are nested more than %d deep", maxDepth)
	}
	tree, err := o.tree(id)
	if err != nil {
		return total{}, err
	}
	var sum total
	for _, each := range tree.entries {
		if sum.files > o.files {
			break
		}
		more := total{files: 1}
		switch {
		case each.isFolder():
			if more, err = o.total(each.id, depth+1); err != nil {
				return total{}, err
			}
			more.files++
		case !each.isModule():
			if _, _, more.bytes, err = o.sizes.ask(each.id); err != nil {
				return total{}, err
			}
			more.largest = more.bytes
		}
		const enough = 1 << 40
		sum = total{
			files: min(sum.files+more.files, enough), bytes: min(sum.bytes+more.bytes, enough), largest: max(sum.largest, more.largest),
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
