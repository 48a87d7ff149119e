package trial

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/fluxcd/pkg/kustomize"
	securefs "github.com/fluxcd/pkg/kustomize/filesys"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/lint"
)

// Main serves trials if this process was started for them, and does not return then. Call it before anything else.
func Main() {
	if filepath.Base(os.Args[0]) != Executable {
		return
	}
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// maxStack is the size in bytes at which Go's runtime ends an infinite recursion. It is far below the memory limit of the process.
const maxStack = 128 << 20

// serve answers requests until the input ends.
func serve(folder string, in io.Reader, out io.Writer) error {
	// Only Go's runtime may write to these two: the other process reads both.
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	endBeyondProcessor(os.Stderr)
	os.Stdout, os.Stderr = null, null
	log.SetOutput(null)
	debug.SetMaxStack(maxStack)
	repository := &remote{hears: gob.NewDecoder(in), says: gob.NewEncoder(out)}
	for {
		var asked request
		if err := repository.hears.Decode(&asked); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		repository.forget()
		if err := boundProcessor(asked.Limits.Processor); err != nil {
			return err
		}
		result, err := judge(folder, repository, asked)
		if err != nil {
			return err
		}
		if err := repository.says.Encode(result); err != nil {
			return err
		}
	}
}

// exceeded is the last message of a process that has used up its processor time.
const exceeded = "limit of processor time"

// endBeyondProcessor ends this process when the kernel signals that it has used up its processor time. Go ignores the signal
// otherwise.
func endBeyondProcessor(says io.Writer) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGXCPU)
	go func() {
		<-signals
		fmt.Fprintln(says, exceeded)
		os.Exit(1)
	}()
}

// boundProcessor makes the kernel send a signal when this process has used this much more processor time.
func boundProcessor(more time.Duration) error {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return fmt.Errorf("get the processor time: %w", err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("get the limit of processor time: %w", err)
	}
	spent := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	limit.Cur = min(limit.Max, uint64((spent+more+time.Second-1)/time.Second))
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("limit the processor time: %w", err)
	}
	return nil
}

// judge checks the files of a commit, or, if the request contains a sync, builds the commit for this sync. The error is a fault of
// the trial itself; a fault of the repository is part of the message.
func judge(folder string, repository fs.FS, asked request) (message, error) {
	if asked.Sync == nil {
		problems, err := lint.Check(repository, asked.Limits.Files)
		return message{Problems: problems}, err
	}
	var spec map[string]any
	if err := json.Unmarshal(asked.Sync, &spec); err != nil {
		return message{}, err
	}
	artifact, err := unpack(folder, repository)
	if artifact != "" {
		defer os.RemoveAll(artifact)
	}
	if err != nil {
		return problem("The repository", "cannot be unpacked: "+err.Error()), nil
	}
	name, _ := spec["path"].(string)
	name = path.Join("/", name)
	made, err := build(artifact, filepath.Join(artifact, filepath.FromSlash(name)), spec, asked.Objects)
	switch {
	case err != nil:
		// The build fails in the same way in the cluster.
		return message{Built: Built{Failure: failure(artifact, err)}}, nil
	case made.objects > asked.Limits.Objects:
		return problem("Folder ."+name, fmt.Sprintf("builds %d objects, more than the limit of %d", made.objects, asked.Limits.Objects)), nil
	case made.bytes > asked.Limits.Bytes || made.substituted > asked.Limits.Bytes:
		return problem("Folder ."+name, fmt.Sprintf("builds %d MB, more than the limit of %d MB", max(made.bytes, made.substituted)>>20, asked.Limits.Bytes>>20)), nil
	}
	answer := message{Built: Built{Unlisted: made.unlisted}}
	if asked.Objects {
		answer.Objects, answer.Read = made.all, made.read
	}
	return answer, nil
}

// failure returns the error of a build without the folder of the artifact, and with the line of the file if the file is not
// valid YAML.
func failure(artifact string, err error) string {
	resolved, failed := filepath.EvalSymlinks(artifact)
	if failed != nil {
		resolved = artifact
	}
	text := strings.NewReplacer(artifact+"/", "", resolved+"/", "", artifact, "", resolved, "").Replace(err.Error())
	return strings.ToValidUTF8(inFile(artifact, text), "?")
}

// problem returns a result with one problem.
func problem(file, reason string) message {
	return message{Problems: []lint.Problem{{File: file, Reason: reason}}}
}

// result describes a build: the number of its objects, the size of their YAML, the size of the objects with values for their variables,
// the manifests that it does not read, the objects, and the files that it reads.
type result struct {
	objects            int
	bytes, substituted int64
	unlisted           []string
	all                []Object
	read               []string
}

// build builds a folder as kustomize-controller does.
func build(artifact, folder string, spec map[string]any, trace bool) (result, error) {
	sync := unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if _, err := kustomize.NewGenerator(artifact, sync).WriteFile(folder); err != nil {
		return result{}, err
	}
	if trace {
		if err := traced(folder); err != nil {
			return result{}, err
		}
	}
	// This is kustomize.SecureBuild without remote bases, with a file system that remembers the files that it reads.
	secure, err := securefs.MakeFsOnDiskSecure(artifact)
	if err != nil {
		return result{}, err
	}
	read := &remembering{FileSystem: secure, read: map[string]bool{}}
	built, err := kustomize.Build(read, folder)
	if err != nil {
		return result{}, err
	}
	text, err := built.AsYaml()
	if err != nil {
		return result{}, err
	}
	made := result{objects: built.Size(), bytes: int64(len(text))}
	if made.unlisted, err = read.unread(artifact); err != nil {
		return result{}, err
	}
	if made.read, err = read.within(artifact); err != nil {
		return result{}, err
	}
	if trace {
		made.all, err = objects(built, artifact, folder, sync)
		for _, each := range made.all {
			made.substituted += int64(len(each.JSON))
		}
	}
	return made, err
}
