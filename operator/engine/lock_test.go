package engine

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

func TestStaleLocksAreFoundByTheirHolders(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const begin = "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`."
	held := func(backend, user, host string, pid int) string {
		return fmt.Sprintf("\n  %s/.pulumi/locks/organization/shop/dev/0.json: created by %s@%s (pid %d) at 2026-01-02T03:04:05Z", backend, user, host, pid)
	}
	const gone = 4194399
	cases := map[string]struct {
		log     string
		secrets []string
		stale   bool
	}{
		"in a file backend":                  {begin + held("file:///state", "me", host, gone), nil, true},
		"in a bucket":                        {begin + held("gs://bucket", "me", host, gone), nil, true},
		"of a user whose name holds an @":    {begin + held("gs://bucket", "me@example.com", host, gone), nil, true},
		"of a host whose name is a secret":   {begin + held("gs://bucket", "me", host, gone), []string{host, "pulumi", "stack"}, true},
		"two of them":                        {begin + held("gs://bucket", "me", host, gone) + held("gs://bucket", "me", host, gone-1), nil, true},
		"of another host":                    {begin + held("gs://bucket", "me", "elsewhere", gone), nil, false},
		"of another host beside one's own":   {begin + held("gs://bucket", "me", host, gone) + held("gs://bucket", "me", "elsewhere", gone), nil, false},
		"whose holder is unknown":            {begin, nil, false},
		"of a process of another name's pid": {begin + held("gs://bucket", "me", host, os.Getpid()), nil, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			mask := newMask(Request{Secrets: c.secrets})
			failure := &Error{Log: mask.Apply(c.log), raw: c.log}
			failure.classify(t.Context(), exec.Command("false").Run())
			if failure.Reason != Locked {
				t.Errorf("reason %s, want %s", failure.Reason, Locked)
			}
			if got := staleLocks(failure); got != c.stale {
				t.Errorf("stale %v, want %v", got, c.stale)
			}
		})
	}
}
