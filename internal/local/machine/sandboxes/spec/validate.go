package spec

import (
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Bounds of descriptions. They keep every message between Strata and the sandboxes below the protocol's bound.
const (
	maxArgs   = 4096    // arguments, and variables
	maxText   = 1 << 20 // bytes of all arguments and variables
	maxMounts = 256
	maxGroups = 1024
	maxDNS    = 64 << 10
)

var (
	id         = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	hostname   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$`)
	label      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	capability = regexp.MustCompile(`^CAP_[A-Z_]{1,40}$`)
	option     = regexp.MustCompile(`^(x-[a-z0-9-]{1,60}(=[A-Za-z0-9_./-]{1,200})?|noexec|nosuid|nodev)$`)
	hint       = regexp.MustCompile(`^dev\.gvisor\.spec\.mount\.[a-z0-9-]{1,63}\.(source|type|share|options)$`)
)

// Validate returns every problem of the pod in one error, or nil. Both ends of the protocol call it: the helper process must not
// rely on the checks of the process that sends the description.
func (p Pod) Validate() error {
	var problems []error
	if !id.MatchString(p.ID) {
		problems = append(problems, fmt.Errorf("ID %q: use at most 63 letters, digits, `.`, `_` and `-`", p.ID))
	}
	if p.Hostname != "" && !hostname.MatchString(p.Hostname) {
		problems = append(problems, fmt.Errorf("hostname %q: use at most 64 letters, digits, `.` and `-`", p.Hostname))
	}
	if len(p.DNS) > maxDNS || strings.ContainsRune(p.DNS, 0) {
		problems = append(problems, fmt.Errorf("DNS: use a text of at most %d bytes", maxDNS))
	}
	problems = append(problems, p.Network.problems()...)
	for name, value := range p.Sysctls {
		fixed, ok := Sysctls[name]
		if !ok || fixed != "" && fixed != value {
			problems = append(problems, fmt.Errorf("sysctl %s=%s: gVisor does not implement it: remove it", name, value))
		}
	}
	names := map[string]bool{}
	for _, m := range p.Memory {
		if !label.MatchString(m.Name) || names[m.Name] || m.Size < 0 {
			problems = append(problems, fmt.Errorf("memory file system %q of %d bytes: use a name once, of lower-case letters, digits and `-`, and a size of at least 0", m.Name, m.Size))
		}
		names[m.Name] = true
	}
	for key, value := range p.Annotations {
		if !hint.MatchString(key) || len(value) > 4096 {
			problems = append(problems, fmt.Errorf("annotation %q: only dev.gvisor.spec.mount.NAME.source, type, share and options are accepted", key))
		}
	}
	return named("pod "+p.ID, problems)
}

func (n Network) problems() []error {
	if n == (Network{}) {
		return nil
	}
	var problems []error
	if !n.Address.IsValid() || !n.Address.Addr().Is4() || n.Address.Addr().IsLoopback() || n.Address.Bits() == 0 {
		problems = append(problems, fmt.Errorf("address %s: use an IPv4 address with a prefix", n.Address))
	} else if n.Gateway.IsValid() && (!n.Address.Masked().Contains(n.Gateway) || n.Gateway == n.Address.Addr()) {
		problems = append(problems, fmt.Errorf("gateway %s: use another address of the network %s", n.Gateway, n.Address.Masked()))
	}
	if n.MAC != "" {
		if mac, err := net.ParseMAC(n.MAC); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			problems = append(problems, fmt.Errorf("MAC %q: use a unicast address of 6 bytes", n.MAC))
		}
	}
	if n.MTU != 0 && (n.MTU < 576 || n.MTU > 65520) {
		problems = append(problems, fmt.Errorf("MTU %d: use 576 to 65520", n.MTU))
	}
	return problems
}

// Validate returns every problem of the container in one error, or nil. Whether a Shared mount's memory file system exists is
// known only to the pod.
func (c Container) Validate() error {
	var problems []error
	if !id.MatchString(c.ID) {
		problems = append(problems, fmt.Errorf("ID %q: use at most 63 letters, digits, `.`, `_` and `-`", c.ID))
	}
	if c.Target != "" && (c.Target == c.ID || !id.MatchString(c.Target)) {
		problems = append(problems, fmt.Errorf("target %q: use the ID of another container", c.Target))
	}
	if (c.RootFS.Image == "") == (c.RootFS.Folder == "") || c.RootFS.Writable < 0 || !clean(c.RootFS.Image+c.RootFS.Folder) {
		problems = append(problems, errors.New("root file system: give the absolute path of an image or of a folder, and a size of at least 0"))
	}
	problems = append(problems, c.problems()...)
	if len(c.Mounts) > maxMounts {
		problems = append(problems, fmt.Errorf("%d mounts: use at most %d", len(c.Mounts), maxMounts))
	}
	for _, m := range c.Mounts {
		if err := m.problem(); err != nil {
			problems = append(problems, fmt.Errorf("mount at %q: %w", m.Target, err))
		}
	}
	if c.Limits.Memory < 0 || c.Limits.Processes < 0 {
		problems = append(problems, errors.New("limits: use at least 0"))
	}
	return named("container "+c.ID, problems)
}

// Validate returns every problem of the process in one error, or nil.
func (p Process) Validate() error { return named("process", p.problems()) }

func (p Process) problems() []error {
	var problems []error
	if len(p.Args) == 0 || p.Args[0] == "" {
		problems = append(problems, errors.New("arguments: the program is missing"))
	}
	size := 0
	for _, text := range slices.Concat(p.Args, p.Env) {
		size += len(text)
		if strings.ContainsRune(text, 0) {
			problems = append(problems, errors.New("an argument or a variable contains a zero byte"))
		}
	}
	if len(p.Args) > maxArgs || len(p.Env) > maxArgs || size > maxText {
		problems = append(problems, fmt.Errorf("arguments and variables: use at most %d each, and %d bytes", maxArgs, maxText))
	}
	for _, variable := range p.Env {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			problems = append(problems, errors.New("a variable has no name, or no `=`"))
		}
	}
	if p.Cwd != "" && !clean(p.Cwd) {
		problems = append(problems, fmt.Errorf("working folder %q: use an absolute path without `..`", p.Cwd))
	}
	if len(p.Groups) > maxGroups {
		problems = append(problems, fmt.Errorf("%d groups: use at most %d", len(p.Groups), maxGroups))
	}
	for _, name := range p.Capabilities {
		if !capability.MatchString(name) {
			problems = append(problems, fmt.Errorf("capability %q: use a name like CAP_CHOWN", name))
		}
	}
	return problems
}

func (m Mount) problem() error {
	if !clean(m.Target) || m.Target == "/" || m.Target == "/dev" || within(m.Target, "/proc") || within(m.Target, "/sys") {
		return errors.New("use an absolute path other than /, /dev, and those in /proc and /sys")
	}
	for _, o := range m.Options {
		if m.Kind != Bind || !option.MatchString(o) {
			return fmt.Errorf("option %q is not permitted: use noexec, nosuid, nodev, or a name that begins with x-", o)
		}
	}
	if m.SubPath != "" && (m.Kind != Bind || !clean("/"+m.SubPath) || m.SubPath[0] == '/') {
		return fmt.Errorf("sub path %q: use a relative path without `..`, and only for kind bind", m.SubPath)
	}
	switch {
	case m.Kind == Bind && !clean(m.Source):
		return fmt.Errorf("source %q: use an absolute path without `..`", m.Source)
	case m.Kind == Shared && !label.MatchString(m.Source):
		return fmt.Errorf("source %q: use the name of a memory file system of the pod", m.Source)
	case m.Kind == Tmpfs && (m.Source != "" || m.Size < 0 || m.Mode > 0o7777):
		return errors.New("a tmpfs has no source, a size of at least 0, and a mode of at most 7777")
	case m.Kind != Bind && m.Kind != Shared && m.Kind != Tmpfs:
		return fmt.Errorf("kind %q: use bind, shared or tmpfs", m.Kind)
	}
	return nil
}

// clean reports whether p is an absolute path in its shortest form, without control characters.
func clean(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && len(p) < 4096 && !strings.ContainsFunc(p, func(r rune) bool { return r < ' ' })
}

// within reports whether p is the folder dir or lies in it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func named(object string, problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.Error()
	}
	return fmt.Errorf("%s is invalid: %s", object, strings.Join(texts, "; "))
}
