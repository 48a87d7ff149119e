package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"
)

// Main serves builds if this process was started for them, and then does not return. A program must call it first.
func Main() {
	if filepath.Base(os.Args[0]) != Executable {
		return
	}
	output := os.Stdout
	os.Stdout = os.Stderr // kustomize must not print between the messages.
	if err := serve(os.Stdin, output); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs the requested builds until the input ends.
func serve(in io.Reader, out io.Writer) error {
	r := &remote{FileSystem: filesys.MakeFsInMemory(), hears: json.NewDecoder(in), says: json.NewEncoder(out)}
	schema := openapi.GetSchemaVersion()
	for {
		var asked request
		if err := r.hears.Decode(&asked); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		// The next folder must not use the OpenAPI schema of this one.
		if openapi.GetSchemaVersion() != schema {
			openapi.ResetOpenAPI()
		}
		if err := r.says.Encode(message{result: r.build(asked)}); err != nil {
			return err
		}
	}
}

// build builds with the options of kustomize-controller (github.com/fluxcd/pkg/kustomize, Build).
func (r *remote) build(asked request) (made result) {
	defer func() {
		// kustomize may panic on some broken input. Flux recovers.
		if broken := recover(); broken != nil {
			made = result{Failure: fmt.Sprint(broken)}
		}
	}()
	r.top, r.namespace = path.Join("/", asked.Folder), asked.Namespace
	objects, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig(),
	}).Run(r, r.top)
	if err != nil {
		return result{Failure: err.Error()}
	}
	text, err := objects.AsYaml()
	if err != nil {
		return result{Failure: err.Error()}
	}
	return result{Objects: objects.Size(), Bytes: int64(len(text))}
}

// remote is a repository that the other process reads. kustomize's builds use only two methods of a file system.
type remote struct {
	filesys.FileSystem
	hears *json.Decoder
	says  *json.Encoder
	// top is the folder of the build. namespace is the namespace of its objects.
	top, namespace string
}

func (r *remote) look(name string) (found answer, err error) {
	if err = r.says.Encode(message{Needs: path.Join("/", name)}); err == nil {
		err = r.hears.Decode(&found)
	}
	return found, err
}

// CleanedAbs implements filesys.FileSystem.
func (r *remote) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	name = path.Join("/", name)
	found, err := r.look(name)
	switch {
	case err != nil:
		return "", "", err
	case found.IsFolder:
		return filesys.ConfirmedDir(name), "", nil
	case found.IsFile:
		return filesys.ConfirmedDir(path.Dir(name)), path.Base(name), nil
	}
	return "", "", fmt.Errorf("there is no %s in the repository", name)
}

// ReadFile implements filesys.FileSystem.
func (r *remote) ReadFile(name string) ([]byte, error) {
	name = path.Join("/", name)
	found, err := r.look(name)
	if err != nil {
		return nil, err
	}
	if !found.IsFile {
		return nil, fmt.Errorf("there is no file %s in the repository", name)
	}
	if path.Dir(name) == r.top && slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
		return r.asFlux(found.Content)
	}
	return found.Content, nil
}

// asFlux returns a kustomization file in the form in which kustomize-controller writes it before a build
// (github.com/fluxcd/pkg/kustomize, Generator.GenerateManifest): without the fields unknown to kustomize, and with the
// namespace of the sync.
func (r *remote) asFlux(content []byte) ([]byte, error) {
	k := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}}
	if err := yaml.Unmarshal(content, &k); err != nil {
		return nil, err
	}
	if len(k.Resources) == 0 {
		k.BuildMetadata = []string{types.OriginAnnotations} // kustomize refuses an empty file.
	}
	if r.namespace != "" {
		k.Namespace = r.namespace
	}
	return yaml.Marshal(k)
}
