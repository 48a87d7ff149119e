// Package plugins stores the schemas of Pulumi's plugins for later runs.
package plugins

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox"
)

const (
	pluginPrefix = "pulumi-resource-"

	// pluginTimeout bounds how long a plugin may take to return its version and its
	// schema.
	pluginTimeout = time.Minute

	// maxSchema bounds the size of a plugin's schema, in bytes.
	maxSchema = 256 << 20

	// Names of the folders in PULUMI_HOME for plugins and for their schemas.
	pluginsFolder = "plugins"
	schemasFolder = "schemas"
)

// Preparer gets the versions and the schemas of plugins and stores them.
type Preparer struct {
	// Path is the search path of pulumi and its plugins.
	Path string

	// Folders creates the folders in which plugins start.
	Folders *workdir.Folders

	// Memory bounds the memory of a plugin, in bytes.
	Memory uint64
}

// Prepare gets the version and the schema of every plugin on Path and stores them in a
// folder in cache, which Prepare returns. Without stored schemas, each run starts a
// plugin two more times just for its schema, and reads it over the loopback interface.
// Prepare starts each plugin once, confined and without the environment of any run.
// Prepare reuses the schemas in cache if the plugins' files have not changed.
func (p Preparer) Prepare(ctx context.Context, cache string) (string, error) {
	root, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	// Runs that use the schemas ignore the plugins on PATH. Pulumi then finds a language
	// host only beside its own executable, so check that the one for YAML is there.
	pulumi, err := environ.LookPath("pulumi", p.Path)
	if err == nil {
		pulumi, err = filepath.EvalSymlinks(pulumi)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(pulumi), "pulumi-language-yaml"))
	}
	if err != nil {
		return "", err
	}
	plugins := find(p.Path)
	dir := filepath.Join(root, fingerprint(plugins))
	if _, err = os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		err = p.fill(ctx, root, dir, plugins)
	}
	if err != nil {
		return "", err
	}
	return dir, nil
}

// find returns the plugins on a path by package name. The first plugin of a
// package counts. find does not resolve links: one executable may be several
// plugins, and choose by the name that it is started by.
func find(path string) map[string]string {
	found := map[string]string{}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		// A folder on the path may be missing.
		files, _ := os.ReadDir(dir)
		for _, file := range files {
			name, plugin := strings.CutPrefix(file.Name(), pluginPrefix)
			if !plugin || found[name] != "" {
				continue
			}
			if _, err := environ.LookPath(file.Name(), dir); err == nil {
				found[name] = filepath.Join(dir, file.Name())
			}
		}
	}
	return found
}

// fingerprint returns a value that changes when a plugin's file does.
func fingerprint(plugins map[string]string) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		target, err := filepath.EvalSymlinks(plugins[name])
		if err != nil {
			continue
		}
		if info, err := os.Stat(target); err == nil {
			fmt.Fprintf(hash, "%s %s %s %d %d\n", name, plugins[name], target, info.Size(), info.ModTime().UnixNano())
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}

// fill creates the folder with the plugins' schemas, and removes older ones.
func (p Preparer) fill(ctx context.Context, root, dir string, plugins map[string]string) error {
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(root, "new-")
	if err != nil {
		return err
	}
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		if err := os.Mkdir(filepath.Join(made, folder), 0o700); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		if err := p.ask(ctx, made, name, plugins[name]); err != nil {
			return fmt.Errorf("plugin %s: %w", name, err)
		}
	}
	// Schemas are large, and this process does not need them any more.
	debug.FreeOSMemory()
	return os.Rename(made, dir)
}

// ask starts a plugin and stores its version and schema.
func (p Preparer) ask(ctx context.Context, made, name, file string) error {
	home, err := p.Folders.Make()
	if err != nil {
		return err
	}
	defer p.Folders.Remove(home)
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	output, input := io.Pipe()
	cells, ended := make(chan *sandbox.Cell, 1), make(chan error, 1)
	go func() {
		err := sandbox.Command{
			// The argument is the address of an engine. The plugin does not connect to it for
			// these calls.
			Path: file, Args: []string{"127.0.0.1:1"}, Dir: home,
			Env: []string{"HOME=" + home, "TMPDIR=" + home, "PULUMI_HOME=" + home, "PATH=" + p.Path},
			Confinement: sandbox.Confinement{
				Grants: sandbox.Grants(p.Path, home), Network: &sandbox.Network{}, Limits: sandbox.Limits{Memory: p.Memory},
			},
			Output: input, Started: func(cell *sandbox.Cell) { cells <- cell }, StopTimeout: time.Second,
		}.Run(ctx)
		input.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	err = keep(ctx, cells, bufio.NewReader(output), made, name, file)
	go func() { _, _ = io.Copy(io.Discard, output) }() // What the plugin prints as it ends does not matter.
	cancel()
	if endErr := <-ended; err != nil && errors.As(endErr, new(*exec.ExitError)) {
		err = fmt.Errorf("%w (%w)", err, endErr)
	}
	return err
}

// keep connects to a plugin in the plugin's network and stores its version and schema.
// The plugin prints its port first.
func keep(ctx context.Context, cells <-chan *sandbox.Cell, output *bufio.Reader, made, name, file string) error {
	port, err := output.ReadString('\n')
	if err != nil {
		return fmt.Errorf("it did not print its port: %w", err)
	}
	cell := <-cells
	dial := func(ctx context.Context, address string) (net.Conn, error) { return cell.Dial(ctx, "", address) }
	conn, err := grpc.NewClient("passthrough:///127.0.0.1:"+strings.TrimSpace(port), grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxSchema)))
	if err != nil {
		return err
	}
	defer conn.Close()
	plugin := pulumirpc.NewResourceProviderClient(conn)
	info, err := plugin.GetPluginInfo(ctx, &emptypb.Empty{})
	if err != nil {
		return fmt.Errorf("ask for its version: %w", err)
	}
	version := strings.TrimPrefix(info.GetVersion(), "v")
	if version == "" || strings.ContainsAny(version, "/\\") {
		return fmt.Errorf("its version %q is not valid", info.GetVersion())
	}
	schema, err := plugin.GetSchema(ctx, &pulumirpc.GetSchemaRequest{})
	if err != nil {
		return fmt.Errorf("ask for its schema: %w", err)
	}
	installed := filepath.Join(made, pluginsFolder, "resource-"+name+"-v"+version)
	if err := os.Mkdir(installed, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(file, filepath.Join(installed, pluginPrefix+name)); err != nil {
		return err
	}
	// Pulumi uses a schema only if its file is newer than that of the plugin.
	path := filepath.Join(made, schemasFolder, name+"-"+version+".json")
	if err := os.WriteFile(path, []byte(schema.GetSchema()), 0o600); err != nil {
		return err
	}
	later := time.Now().Add(time.Second)
	return os.Chtimes(path, later, later)
}
