package toolchain

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// OverrideVariable returns the environment variable that names the user's own binary for a tool.
func OverrideVariable(name string) string {
	return "STRATA_TOOL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// overridden returns the path that the environment sets for a tool.
func overridden(name string) (path string, ok bool) {
	path = os.Getenv(OverrideVariable(name))
	return path, path != ""
}

// checkOverride returns an error unless path can replace a tool at a version. The path must exist, and be a program or a
// folder like the tool. A program that prints its version must print that one.
func (t *Toolchain) checkOverride(ctx context.Context, tl tool, version, path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tl.name + "=" + path
	if _, ok := t.checked[key]; ok {
		return nil
	}
	variable := OverrideVariable(tl.name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("use %s: %w: correct it or unset it", variable, err)
	case tl.folder && !info.IsDir():
		return fmt.Errorf("use %s: %s is not a folder: correct it or unset it", variable, path)
	case !tl.folder && (info.IsDir() || info.Mode()&0o111 == 0):
		return fmt.Errorf("use %s: %s is not a program: correct it or unset it", variable, path)
	}
	said, err := tl.versionOf(ctx, path)
	if err != nil {
		return fmt.Errorf("use %s: %w", variable, err)
	}
	if said != "" && said != version {
		return fmt.Errorf("use %s: %s is version %s, but Strata pins %s: use that version or unset it", variable, path, said, version)
	}
	t.checked[key] = struct{}{}
	return nil
}
