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

// command runs git with the objects of the push beside those of the repository.
func (j *judgement) command(ctx context.Context, args ...string) *exec.Cmd {
	limits := []string{"-c", bounded, "sh", strconv.Itoa(max(int(j.Limits.Check.Seconds()), 1)), strconv.FormatInt(j.Limits.Memory>>10, 10)}
	command := exec.CommandContext(ctx, "/bin/sh", append(append(limits, j.git), args...)...)
	command.Env = append(j.hermetic(), "GIT_DIR="+j.folder,
		"GIT_OBJECT_DIRECTORY="+j.proposal.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(j.folder, "objects"))
	return command
}

// objects reads objects by their ID, by two processes of git that stay for all of them.
type objects struct {
	contents, sizes *reader
	trees           map[string]folder
	totals          map[string]total
}

func openObjects(ctx context.Context, git func(context.Context, ...string) *exec.Cmd) (*objects, error) {
	o := &objects{trees: map[string]folder{}, totals: map[string]total{}}
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

func (o *objects) close() {
	o.contents.close()
	o.sizes.close()
}

// treeOf returns the tree of a commit or of a tag of one, and nothing for other objects.
func (o *objects) treeOf(id string) (string, error) {
	if _, kind, _, err := o.sizes.ask(id + "^{commit}"); err != nil || kind != "commit" {
		return "", err
	}
	tree, _, _, err := o.sizes.ask(id + "^{tree}")
	return tree, err
}

// largestTree bounds the list of one folder that is held in memory.
const largestTree = 8 << 20

// folder is what a tree holds, in its order and by name.
type folder struct {
	entries []entry
	named   map[string]entry
}

// tree returns what a folder holds.
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
	made := folder{entries: entries, named: make(map[string]entry, len(entries))}
	for _, each := range entries {
		made.named[each.name] = each
	}
	o.trees[id] = made
	return made, nil
}

// content returns an object of at most the given size.
func (o *objects) content(id string, most int64) ([]byte, error) {
	if _, _, size, err := o.sizes.ask(id); err != nil || size > most {
		if err == nil {
			err = refuse("the object %.10s has %d bytes, at most %d are taken", id, size, most)
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

// total is what a folder holds when it is unpacked.
type total struct {
	files          int
	bytes, largest int64
}

// deepest is how many folders may lie in each other.
const deepest = 100

// total adds up a folder, each tree once: one that holds another ten times, which does the same, is larger than any disk.
func (o *objects) total(id string, depth int) (total, error) {
	if known, ok := o.totals[id]; ok {
		return known, nil
	}
	if depth > deepest {
		return total{}, refuse("it has more than %d folders in each other", deepest)
	}
	tree, err := o.tree(id)
	if err != nil {
		return total{}, err
	}
	var sum total
	for _, each := range tree.entries {
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

// reader is a process of git cat-file.
type reader struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

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

// ask returns what git says of an object: its ID, type and size. The type of one that there is not is missing.
func (r *reader) ask(name string) (id, kind string, size int64, err error) {
	if _, err := fmt.Fprintln(r.input, name); err != nil {
		return "", "", 0, fmt.Errorf("ask for the object %s: %w", name, err)
	}
	line, err := r.output.ReadString('\n')
	if err != nil {
		return "", "", 0, fmt.Errorf("ask for the object %s: %w", name, err)
	}
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return "", "missing", 0, nil
	}
	size, err = strconv.ParseInt(fields[2], 10, 64)
	return fields[0], fields[1], size, err
}

// entry is one of a tree.
type entry struct{ mode, name, id string }

func (e entry) isFolder() bool { return e.mode == "40000" }
func (e entry) isLink() bool   { return e.mode == "120000" }

// isModule says whether it is a commit of another repository, which Flux fetches for no team.
func (e entry) isModule() bool { return e.mode == "160000" }

// parseTree reads "MODE NAME\0ID" as often as it is there.
func parseTree(content []byte) ([]entry, error) {
	const idSize = 20
	var entries []entry
	for len(content) > 0 {
		mode, rest, found := bytes.Cut(content, []byte(" "))
		name, rest, ended := bytes.Cut(rest, []byte{0})
		if !found || !ended || len(rest) < idSize {
			return nil, fmt.Errorf("it is broken after %d entries", len(entries))
		}
		entries = append(entries, entry{mode: strings.TrimLeft(string(mode), "0"), name: string(name), id: hex.EncodeToString(rest[:idSize])})
		content = rest[idSize:]
	}
	return entries, nil
}
