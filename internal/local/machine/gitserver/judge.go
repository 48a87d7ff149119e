package gitserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/gittree"
	"github.com/strata-platform/strata/internal/lint/trial"
)

// judge returns the reasons to reject a push, one per line, or none to accept it, and then what it has found out about the
// push. It checks every commit of the push, not only the last one, because Flux can apply any commit.
func (s *Server) judge(ctx context.Context, account, repository string, p proposal) ([]string, findings) {
	release := s.place(ctx, account)
	if release == nil {
		return []string{"the server is busy with other pushes: try again"}, findings{}
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Check)
	defer cancel()
	j := &judgement{Server: s, ctx: ctx, repository: repository, proposal: p, seen: map[string]bool{}, built: map[string]bool{}}
	defer j.close()
	err := j.run(account != Engineer)
	var refused *refusal
	if large, is := errors.AsType[*gittree.LimitError](err); is {
		err = refuse("%s", large)
	}
	switch {
	case err == nil:
		return nil, j.findings
	case errors.As(err, &refused):
		return append([]string{"the push is rejected, and nothing has changed:"}, refused.reasons...), findings{}
	case ctx.Err() != nil:
		return []string{fmt.Sprintf("the check of the push takes longer than %s: push fewer commits at a time", s.Limits.Check)}, findings{}
	}
	s.errors.Printf("check a push to repository %s: %v", repository, err)
	return []string{"the server cannot check the push: see its log"}, findings{}
}

// place waits for a place to check a push. The engineer has places that the teams do not take.
func (s *Server) place(ctx context.Context, account string) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Check+s.Limits.Wait)
	defer cancel()
	if account == Engineer {
		return s.checked.take(ctx, Engineer, checksAtOnce)
	}
	return s.checked.take(ctx, "teams", checksAtOnce)
}

// judgement is the check of one push.
type judgement struct {
	*Server
	ctx        context.Context
	repository string
	proposal   proposal
	objects    *gittree.Objects
	// trial checks and builds in a process of its own, in a temporary folder.
	trial     *trial.Trial
	temporary string
	// seen holds the trees of checked commits. built holds the trees whose builds have been tried.
	seen, built map[string]bool
	findings    findings
}

// close ends the processes of the check and removes its files.
func (j *judgement) close() {
	if j.trial != nil {
		j.trial.Close()
	}
	if j.temporary != "" {
		_ = os.RemoveAll(j.temporary) // The next start of the server removes the rest.
	}
	if j.objects != nil {
		j.objects.Close()
	}
}

// run checks the tips of the push. For a team's push, it also tries to build them and checks the commits below them. For the engineer's,
// it builds only what needs a plan.
func (j *judgement) run(team bool) error {
	var tips []string
	for _, each := range j.proposal.updates {
		if !each.deletes() {
			tips = append(tips, each.new)
		}
	}
	if len(tips) == 0 {
		return nil
	}
	for _, check := range []func() error{j.refs, j.disk, func() error { return j.count(tips) }} {
		if err := check(); err != nil {
			return err
		}
	}
	var err error
	if j.objects, err = gittree.Open(j.ctx, j.command, j.Limits.Files); err != nil {
		return err
	}
	if j.temporary, err = os.MkdirTemp(j.root, ".push-trial-*"); err != nil {
		return err
	}
	if j.trial, err = trial.Start(j.ctx, j.temporary, j.Limits.Trial); err != nil {
		return err
	}
	for _, tip := range tips {
		if err := j.commit(tip); err != nil {
			return err
		}
	}
	for _, each := range j.proposal.updates {
		if err := j.build(each, team); err != nil {
			return err
		}
	}
	if !team {
		return nil
	}
	return j.lines(append([]string{"rev-list"}, unseen(tips)...), j.commit)
}

// unseen returns the arguments of rev-list for the new objects of the push.
func unseen(tips []string) []string { return append(append([]string{}, tips...), "--not", "--all") }

// refs bounds the number of branches and tags, and rejects replacements of objects.
func (j *judgement) refs() error {
	if len(j.proposal.updates) > j.Limits.Refs {
		return refuse("it changes more than %d branches and tags: push fewer at a time", j.Limits.Refs)
	}
	count := 0
	for _, each := range j.proposal.updates {
		// A replacement shows this server, and nobody else, other objects than the pushed ones (git-replace(1)).
		if strings.HasPrefix(each.ref, "refs/replace/") {
			return refuse("it changes %s: the server accepts no replacements of objects", each.ref)
		}
		if strings.Trim(each.old, "0") == "" {
			count++
		}
	}
	err := j.lines([]string{"for-each-ref", "--format=x", fmt.Sprintf("--count=%d", j.Limits.Refs+1)}, func(string) error { count++; return nil })
	if err == nil && count > j.Limits.Refs {
		err = refuse("the repository would have more than %d branches and tags: delete some", j.Limits.Refs)
	}
	return err
}

// disk checks the size of the repository, including the objects of the push, which its folder already contains.
func (j *judgement) disk() error {
	var used int64
	err := filepath.WalkDir(j.folder(j.repository), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				used += info.Size()
			}
		}
		// git's maintenance removes files concurrently.
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	if err == nil && used > j.Limits.Repository {
		err = refuse("the repository would have %d MB, and may have at most %d MB: delete branches", used>>20, j.Limits.Repository>>20)
	}
	return err
}

// count bounds the number of objects in the push.
func (j *judgement) count(tips []string) error {
	count := 0
	return j.lines(append([]string{"rev-list", "--objects"}, unseen(tips)...), func(string) error {
		if count++; count > j.Limits.Objects {
			return refuse("it contains more than %d objects: push fewer commits at a time", j.Limits.Objects)
		}
		return nil
	})
}

// commit checks the files of a commit. It accepts a tag of another kind of object, because Flux cannot build that.
func (j *judgement) commit(id string) error {
	tree, err := j.objects.TreeOf(id)
	if err != nil || tree == "" || j.seen[tree] {
		return err
	}
	j.seen[tree] = true
	total, err := j.objects.Total(tree)
	switch {
	case err != nil:
		return err
	case total.Largest > j.Limits.File:
		return refuse("commit %.10s has a file of %d bytes; the maximum is %d: keep large files elsewhere", id, total.Largest, j.Limits.File)
	case total.Files > j.Limits.Files:
		return refuse("commit %.10s has more than %d files: split the repository", id, j.Limits.Files)
	case total.Bytes > j.Limits.Tree:
		return refuse("commit %.10s has more than %d MB of files: split the repository", id, j.Limits.Tree>>20)
	}
	problems, err := j.trial.Check(j.objects.FS(tree))
	if err != nil || len(problems) == 0 {
		return err
	}
	return refuseFor(id, problems...)
}

// lines runs git and calls each for the lines of its output, until the first error.
func (j *judgement) lines(args []string, each func(string) error) error {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	command := j.command(ctx, args...)
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	scanner := bufio.NewScanner(output)
	for scanner.Scan() {
		if err := each(scanner.Text()); err != nil {
			cancel()
			_ = command.Wait()
			return err
		}
	}
	if err := errors.Join(scanner.Err(), command.Wait()); err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	return nil
}

// command returns a git command that sees the objects of the push and of the repository.
func (j *judgement) command(ctx context.Context, args ...string) *exec.Cmd {
	limits := []string{"-c", bounded, "sh", strconv.Itoa(max(int(j.Limits.Check.Seconds()), 1)), strconv.FormatInt(j.Limits.Memory>>10, 10)}
	command := exec.CommandContext(ctx, "/bin/sh", append(append(limits, j.git), args...)...)
	command.Env = append(j.hermetic(), "GIT_DIR="+j.folder(j.repository),
		"GIT_OBJECT_DIRECTORY="+j.proposal.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(j.folder(j.repository), "objects"))
	return command
}
