package sandboxes

import (
	"os"
	"strings"
)

// The settings of Linux that forbid user namespaces (namespaces(7); Debian's and Ubuntu's kernels have the last two).
const (
	maxNamespaces = "/proc/sys/user/max_user_namespaces"
	unprivileged  = "/proc/sys/kernel/unprivileged_userns_clone"
	restricted    = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
)

// unsupported finds the reason for the error of an operation that every sandbox needs.
func unsupported(err error) *UnsupportedError {
	return diagnose(err, func(path string) string {
		data, _ := os.ReadFile(path)
		return strings.TrimSpace(string(data))
	})
}

func diagnose(err error, setting func(path string) string) *UnsupportedError {
	switch {
	case setting(maxNamespaces) == "0":
		return &UnsupportedError{UserNamespacesDisabled, "allow user namespaces: sudo sysctl user.max_user_namespaces=10000", err}
	case setting(unprivileged) == "0":
		return &UnsupportedError{UserNamespacesDisabled, "allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1", err}
	case setting(restricted) == "1":
		return &UnsupportedError{AppArmorRestricted, "allow user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or load an AppArmor profile for strata that contains `userns,`", err}
	}
	return &UnsupportedError{Forbidden, "if this is a container, run Strata outside it, or give the container the right to create user namespaces and to mount /proc", err}
}
