package home

import (
	"path/filepath"
)

// Socket returns the path of the supervisor's control socket.
func (h Home) Socket() string { return h.path("supervisor.sock") }

// Lock returns the path of the lock that the running supervisor holds.
func (h Home) Lock() string { return h.path("supervisor.lock") }

// Log returns the path of a component's log.
func (h Home) Log(component string) string { return h.path("logs", component+".log") }

// Logs returns the folder of all logs.
func (h Home) Logs() string { return h.path("logs") }

// Kubernetes returns the folder of the control plane's keys and data.
func (h Home) Kubernetes() string { return h.path("kubernetes") }

// PodsSocket returns the path of the socket through which the API server reaches the network of the pods.
func (h Home) PodsSocket() string { return h.path("kubernetes", "pods.sock") }

// ErasedKubernetes returns the path of the folder Kubernetes during its removal.
func (h Home) ErasedKubernetes() string { return h.path("kubernetes.erased") }

// Pods returns the folder of the pods' volumes and credentials.
func (h Home) Pods() string { return h.path("pods") }

// Volumes returns the folder of the persistent volumes. It outlives the pods.
func (h Home) Volumes() string { return h.path("volumes") }

// Google returns the folder of the emulated Google Cloud.
func (h Home) Google() string { return h.path("google") }

// Git returns the folder of the Git server's repositories.
func (h Home) Git() string { return h.path("git") }

// ToolsRoot returns the folder above Tools. The Automation API expects a Pulumi installation in this form.
func (h Home) ToolsRoot() string { return h.path("tools") }

// Tools returns the folder of links to the programs that Pulumi runs need. It belongs first on PATH.
func (h Home) Tools() string { return h.path("tools", "bin") }

// Certificates returns the folder of the certificate authorities that Pulumi runs trust besides the system's. Runs of
// teams can read it.
func (h Home) Certificates() string { return h.path("tools", "bin", "certificates") }

// Spares returns the folder of links to programs that the machine may have itself. It belongs last on PATH.
func (h Home) Spares() string { return h.path("tools", "spares") }

// EngineerCredentials returns the path of the platform engineer's Google credentials, of type authorized_user. They are valid for an
// hour, and the supervisor replaces them before: read them for each use.
func (h Home) EngineerCredentials() string { return h.path("credentials", "engineer.json") }

// AdminKubeconfig returns the path of the kubeconfig of the cluster's administrator.
func (h Home) AdminKubeconfig() string { return h.path("kubernetes", "admin.kubeconfig") }

// Layers returns the folder above the folders that Layer returns.
func (h Home) Layers() string { return h.path("layers") }

// Layer returns the folder in which a Pulumi layer runs, with its project and stack settings.
func (h Home) Layer(name string) string { return h.path("layers", name) }

// GitCredentials returns the path of the file with the logins of the Git accounts, in the format of
// git-credential-store.
func (h Home) GitCredentials() string { return h.path("credentials", "git-logins") }

// LayerState returns the folder of the Pulumi backend that layers 1 and 2 share.
func (h Home) LayerState() string { return h.path("state", "platform") }

// TenantState returns the folder of one team's Pulumi backend, named by the team's namespace. The operator lets a
// Stack use only the folder of its own namespace.
func (h Home) TenantState(namespace string) string { return filepath.Join(h.TenantStates(), namespace) }

// TenantStates returns the folder above the folders that TenantState returns.
func (h Home) TenantStates() string { return h.path("state", "teams") }

// LostStates returns the folder of the team states without a known passphrase. Each state is in a subfolder whose name
// begins with the team's namespace.
func (h Home) LostStates() string { return h.path("state", "lost") }

// Images holds the images of the pods.
func (h Home) Images() string { return h.path("images") }

// Ledger is the folder of the ledger.
func (h Home) Ledger() string { return h.path("ledger") }

// RunRecords is the folder in which the operator and the layers leave the records of their runs for the ledger.
func (h Home) RunRecords() string { return h.path("runs") }
