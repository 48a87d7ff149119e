// Package identity tests Workload Identity of pods on a platform: Google's own clients in sandboxed pods get the account of
// their pod, and no other.
package identity
