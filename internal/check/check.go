// Package check finds, in a team's repository, what the platform would refuse after a push: without a cluster and without a
// network.
//
// Each part is the code that refuses later: the trial build of the Git server, the schemas and policies of the API server,
// the operator's check of a Program, and the type check of Pulumi's language host.
package check

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/check/admission"
	"github.com/strata-platform/strata/internal/check/kinds"
	"github.com/strata-platform/strata/internal/check/program"
	"github.com/strata-platform/strata/internal/check/source"
	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/platform"
)

// Options describe a check.
type Options struct {
	// Folder is the root of the repository. Required.
	Folder string
	// Team is the name of the team, and Limits what the platform allows it. Without a name, the check leaves out policies and
	// permissions, and builds the root.
	Team   string
	Limits platform.Limits
	// Schemas returns the schemas of Pulumi's packages. Nil means none.
	Schemas func() *program.Schemas
	// Skip are IDs of rules whose findings the report leaves out.
	Skip []string
}

// run is one check.
type run struct {
	Options
	tree     fs.FS
	kinds    *kinds.Kinds
	findings []Finding
	notes    []string
	objects  int
	// placed are the places of the objects so far. admitted are those that the API server would accept.
	placed   map[source.ID]placed
	admitted []found
	// temporary is the folder for files of the check.
	temporary string
	// stackNames maps Pulumi stacks to the names of their Stacks, for messages.
	stackNames map[string]string
}

// Run checks a repository. It never follows a symbolic link out of the folder, and starts no program of the repository.
func Run(ctx context.Context, options Options) (*Report, error) {
	root, err := os.OpenRoot(options.Folder)
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", err)
	}
	defer root.Close()
	r := &run{Options: options, tree: hidden{root.FS()}}
	temporary, err := os.MkdirTemp("", "strata-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	r.temporary, r.stackNames = temporary, map[string]string{}
	judge, err := trial.Start(ctx, temporary, trial.DefaultLimits())
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	// The schemas of the kinds load while the process of the trial starts.
	if r.kinds, err = admission.Kinds(options.Limits.Entries); err != nil {
		return nil, err
	}
	if err := r.all(ctx, judge); err != nil {
		return nil, err
	}
	if r.objects == 0 && len(r.findings) == 0 {
		r.notes = append(r.notes, "nothing was checked: Flux would find no objects here; name the root of a team's repository")
	}
	return r.report(), nil
}

func (r *run) all(ctx context.Context, judge *trial.Trial) error {
	if problem, err := r.size(); err != nil || problem != nil {
		r.problem(source.Read(r.tree, nil), problem)
		return err
	}
	problems, err := judge.Check(r.tree)
	if err != nil {
		return fmt.Errorf("check the files of the repository: %w", err)
	}
	if len(problems) > 0 {
		files := source.Read(r.tree, nil)
		for _, each := range problems {
			r.problem(files, &each)
		}
		return nil
	}
	accounts := r.Limits.Accounts
	if r.Team == "" {
		r.notes = append(r.notes, "policies and permissions are not checked: no team is known here; name it with --team")
		accounts = []platform.AccountLimits{{Path: "./"}}
	}
	for _, account := range accounts {
		judgement := admission.WithoutTeam(r.kinds)
		if r.Team != "" {
			if judgement, err = admission.New(r.kinds, r.Limits, account); err != nil {
				return err
			}
		}
		// The policies compile while the process of the trial builds.
		go judgement.Prepare()
		if err := r.folder(ctx, judge, judgement, account); err != nil {
			return err
		}
	}
	return r.operate(r.admitted)
}

// folder checks one folder that Flux applies under an account.
func (r *run) folder(ctx context.Context, judge *trial.Trial, judgement *admission.Admission, account platform.AccountLimits) error {
	sync := trial.Sync{"path": account.Path}
	if r.Limits.Namespace != "" {
		sync["targetNamespace"] = r.Limits.Namespace
	}
	problems, built, err := judge.Manifests(r.tree, sync)
	if err != nil {
		return fmt.Errorf("build %s: %w", account.Path, err)
	}
	files := source.Read(r.tree, yamlFiles(built.Read))
	if len(problems) > 0 {
		for _, each := range problems {
			r.problem(files, &each)
		}
		return nil
	}
	if built.Failure != "" {
		r.failure(account, built.Failure)
		return nil
	}
	r.unlisted(account, built.Unlisted)
	return r.judge(ctx, judgement, files, built.Objects, account)
}

// unlisted reports the manifests that no build reads. Files in the folder of another account belong to its build.
func (r *run) unlisted(account platform.AccountLimits, names []string) {
	for _, name := range names {
		elsewhere := slices.ContainsFunc(r.Limits.Accounts, func(other platform.AccountLimits) bool {
			return other.Name != account.Name && within(name, other.Path)
		})
		if within(name, account.Path) && !elsewhere || len(r.Limits.Accounts) < 2 {
			r.add(source.Place{File: name, Line: 1, Column: 1}, RuleUnlisted, "",
				fmt.Sprintf("not applied: no kustomization.yaml below %s lists it", folderOf(account)),
				"list it under resources in kustomization.yaml, or remove it")
		}
	}
}

// folderOf returns the folder of an account as people write it.
func folderOf(account platform.AccountLimits) string { return "." + path.Join("/", account.Path) }

func within(name, folder string) bool {
	folder = path.Clean(strings.TrimPrefix(folder, "./"))
	return folder == "." || strings.HasPrefix(name, folder+"/")
}

// problem reports a problem that the Git server rejects a push for.
func (r *run) problem(files *source.Files, found *lint.Problem) {
	if found == nil {
		return
	}
	text := found.Reason
	if found.Field != "" {
		text = found.Field + " " + text
	}
	at := files.Field(found.File, found.Field)
	if !isFile(r.tree, found.File) {
		// The problem is about the whole repository, and the places of SARIF and GitHub are files.
		at = source.Place{File: kustomization(r, platform.AccountLimits{}), Line: 1, Column: 1}
	}
	r.add(at, RuleLoad, "", "the push is rejected: "+found.File+": "+text, "correct it and push")
}

func (r *run) add(at source.Place, rule, object, text, fix string) {
	if slices.Contains(r.Skip, rule) {
		return
	}
	r.findings = append(r.findings, Finding{at.File, at.Line, at.Column, rule, object, oneLine(text), fix})
}
