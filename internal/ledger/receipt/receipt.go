// Package receipt describes a push that the Git server has accepted: who has pushed what, and who has written it.
package receipt

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Push is an accepted push. The account is that of the login. The rest is what the client has sent: anybody can write a commit with any
// author and any message.
type Push struct {
	Account    string `json:"account"`
	Repository string `json:"repository"`
	// Updates are the changed branches and tags, at most [MostUpdates]. More counts the others.
	Updates []Update `json:"updates"`
	More    int      `json:"more,omitempty"`
}

// Update is the change of a branch or tag. An ID of zeros stands for a missing commit.
type Update struct {
	Ref string `json:"ref"`
	Old string `json:"old"`
	New string `json:"new"`
	// Commit is the new commit, or that of the new tag; nil if git cannot show it.
	Commit *Commit `json:"commit,omitempty"`
}

// Commit is what a commit says about itself.
type Commit struct {
	ID        string    `json:"id"`
	Author    string    `json:"author"`
	Authored  time.Time `json:"authored,omitzero"`
	Committer string    `json:"committer"`
	Subject   string    `json:"subject"`
}

// Bounds of a receipt.
const (
	MostUpdates = 20
	// longest bounds a text, in bytes.
	longest = 200
	// mostOutput bounds what is read from git, which prints names and messages of any length.
	mostOutput = 1 << 20
)

// format prints a commit as fields that end with a zero byte. A message has no zero byte (git-commit-tree(1)). %an and %cn are the names as
// they stand in the commit, without the file .mailmap.
const format = "--format=%H%x00%an <%ae>%x00%aI%x00%cn <%ce>%x00%s%x00"

const fields = 5

// Describe adds the commits to the updates of a push, and bounds it. command returns a command of git in the repository. A push does not
// depend on its description, so Describe leaves out what git cannot show.
func (p *Push) Describe(ctx context.Context, command func(ctx context.Context, args ...string) *exec.Cmd) {
	p.More += max(0, len(p.Updates)-MostUpdates)
	p.Updates = p.Updates[:min(len(p.Updates), MostUpdates)]
	for i := range p.Updates {
		u := &p.Updates[i]
		if strings.Trim(u.New, "0") != "" {
			u.Commit = show(ctx, command, u.New)
		}
		u.Ref = cut(u.Ref)
	}
}

func show(ctx context.Context, command func(ctx context.Context, args ...string) *exec.Cmd, id string) *Commit {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	git := command(ctx, "log", "-1", "--no-show-signature", "--no-color", format, id, "--")
	output, err := git.StdoutPipe()
	if err != nil || git.Start() != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(output, mostOutput))
	cancel()
	_ = git.Wait()
	parts := bytes.Split(text, []byte{0})
	if err != nil || len(parts) < fields {
		return nil
	}
	of := func(i int) string { return cut(string(parts[i])) }
	c := &Commit{ID: of(0), Author: of(1), Committer: of(3), Subject: of(4)}
	if authored, err := time.Parse(time.RFC3339, of(2)); err == nil && authored.Year() < 10_000 {
		c.Authored = authored.UTC()
	}
	return c
}

func cut(text string) string {
	if len(text) > longest {
		text = text[:longest-len("…")] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
