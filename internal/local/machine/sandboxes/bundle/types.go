// Package bundle writes the description of a container that runsc reads. It builds each description from a short list of
// fields, so a container gets nothing that a caller did not ask for: no device, no host network, no path of the machine except
// its mounts.
package bundle

// config is the part of the OCI runtime specification that pods need
// (https://github.com/opencontainers/runtime-spec/blob/v1.1.0/config.md). runsc creates the other namespaces, /proc, /sys and
// /dev by itself, inside gVisor.
type config struct {
	Version     string            `json:"ociVersion"`
	Process     process           `json:"process"`
	Root        root              `json:"root"`
	Hostname    string            `json:"hostname"`
	Mounts      []mount           `json:"mounts"`
	Linux       linux             `json:"linux"`
	Annotations map[string]string `json:"annotations"`
}

type process struct {
	Terminal        bool         `json:"terminal"`
	User            user         `json:"user"`
	Args            []string     `json:"args"`
	Env             []string     `json:"env"`
	Cwd             string       `json:"cwd"`
	Capabilities    capabilities `json:"capabilities"`
	Rlimits         []rlimit     `json:"rlimits,omitempty"`
	NoNewPrivileges bool         `json:"noNewPrivileges"`
}

type user struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"additionalGids,omitempty"`
}

type capabilities struct {
	Bounding  []string `json:"bounding"`
	Effective []string `json:"effective"`
	Permitted []string `json:"permitted"`
}

type rlimit struct {
	Type string `json:"type"`
	Hard uint64 `json:"hard"`
	Soft uint64 `json:"soft"`
}

type root struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"readonly"`
}

type mount struct {
	Target  string   `json:"destination"`
	Type    string   `json:"type"`
	Source  string   `json:"source,omitempty"`
	Options []string `json:"options,omitempty"`
}

type linux struct {
	Namespaces []namespace       `json:"namespaces"`
	Sysctl     map[string]string `json:"sysctl,omitempty"`
}

type namespace struct {
	Type string `json:"type"`
	Path string `json:"path,omitempty"`
}

// version is the version of the specification that config follows.
const version = "1.1.0"

// The annotations of containerd that put the containers of a pod into one sandbox, and those of gVisor for file systems.
const (
	kindAnnotation    = "io.kubernetes.cri.container-type"
	sandboxAnnotation = "io.kubernetes.cri.sandbox-id"
	rootAnnotation    = "dev.gvisor.spec.rootfs."
	mountAnnotation   = "dev.gvisor.spec.mount."
)
