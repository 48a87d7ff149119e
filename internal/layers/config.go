package layers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// storedValue is a value of a stack's configuration in pulumi's output.
type storedValue struct {
	Value       string `json:"value"`
	ObjectValue any    `json:"objectValue"`
	Secret      bool   `json:"secret"`
}

// configSum returns a checksum of a layer's configuration and of pulumi's settings file of the stack. Nobody can guess a
// secret from the checksum without the passphrase.
func (r Runner) configSum(l Layer) (string, error) {
	kept, err := os.ReadFile(filepath.Join(r.WorkDir(l.Name), "Pulumi."+r.Stack+".yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	wanted, err := json.Marshal(l.Config)
	if err != nil {
		return "", err
	}
	sum := hmac.New(sha256.New, []byte(r.Env["PULUMI_CONFIG_PASSPHRASE"]))
	fmt.Fprintf(sum, "%d %s%s", len(kept), kept, wanted)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (r Runner) configSumFile(l Layer) string { return filepath.Join(r.WorkDir(l.Name), "config.sum") }

// isConfigured reports whether the layer's configuration and the stack's settings file are unchanged since configure last
// ran.
func (r Runner) isConfigured(l Layer, sum string) bool {
	noted, err := os.ReadFile(r.configSumFile(l))
	return err == nil && string(noted) == sum
}

func (r Runner) noteConfigured(l Layer) error {
	sum, err := r.configSum(l)
	if err != nil {
		return err
	}
	return os.WriteFile(r.configSumFile(l), []byte(sum), 0o600)
}

// configure sets the stack's configuration to the layer's. It passes secrets in environment variables, because every user
// can read a process's arguments.
func (r Runner) configure(ctx context.Context, stack auto.Stack, config auto.ConfigMap) error {
	text, err := r.pulumi(ctx, stack, nil, "config", "--json", "--show-secrets")
	if err != nil {
		return err
	}
	var current map[string]storedValue
	if err := json.Unmarshal([]byte(text), &current); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var stale, plain, secret []string
	for key, old := range current {
		if wanted, ok := config[key]; !ok || !old.is(wanted) {
			stale = append(stale, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		value := config[key]
		switch old, ok := current[key]; {
		case ok && old.is(value):
		case value.Secret:
			secret = append(secret, assignments(key, value.Value)...)
		default:
			plain = append(plain, assignments(key, value.Value)...)
		}
	}
	if len(stale) > 0 {
		if _, err := r.pulumi(ctx, stack, nil, append([]string{"config", "rm-all"}, stale...)...); err != nil {
			return err
		}
	}
	if len(plain)+len(secret) == 0 {
		return nil
	}
	_, err = r.pulumi(ctx, stack, []string{
		"PULUMI_OPTION_PATH=true",
		"PULUMI_OPTION_PLAINTEXT=" + csvLine(plain),
		"PULUMI_OPTION_SECRET=" + csvLine(secret),
	}, "config", "set-all")
	return err
}

// pulumi runs a command on a stack and returns its output.
func (r Runner) pulumi(ctx context.Context, stack auto.Stack, env []string, args ...string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		env = append(env, name+"="+r.Env[name])
	}
	w := stack.Workspace()
	stdout, stderr, _, err := w.PulumiCommand().Run(ctx, w.WorkDir(), nil, nil, nil, env, append(args, "--stack", stack.Name())...)
	if err != nil {
		return "", fmt.Errorf("pulumi %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(stderr))
	}
	return stdout, nil
}

// structured returns the list or object that a JSON text encodes. A project file can declare a list or object type for a
// setting. A stack's value must then have that type, although programs receive JSON text.
func structured(text string) (any, bool) {
	if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
		return nil, false
	}
	var value any
	return value, json.Unmarshal([]byte(text), &value) == nil
}

// is reports whether a stored value equals the wanted one. assignments omits empty lists and objects, so they are never
// stored.
func (v storedValue) is(wanted auto.ConfigValue) bool {
	if v.Secret != wanted.Secret {
		return false
	}
	if value, ok := structured(wanted.Value); ok {
		return reflect.DeepEqual(v.ObjectValue, value)
	}
	return v.ObjectValue == nil && v.Value == wanted.Value
}

// assignments returns the arguments that set a key, or each leaf of a structured value, for `pulumi config set-all
// --path`. A list or object without leaves has none: it is equivalent to a missing value.
func assignments(key, text string) []string {
	value, ok := structured(text)
	if !ok {
		return []string{key + "=" + text}
	}
	return leaves(key, value)
}

func leaves(path string, value any) []string {
	var all []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = append(all, leaves(path+"["+strconv.Quote(name)+"]", value[name])...)
		}
	case []any:
		for i, item := range value {
			all = append(all, leaves(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	default:
		all = append(all, fmt.Sprintf("%s=%v", path, value))
	}
	return all
}

// csvLine returns a list in the form in which pulumi reads it from an environment variable.
func csvLine(values []string) string {
	if len(values) == 0 {
		return ""
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	// A write to memory does not fail.
	_ = w.Write(values)
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}
