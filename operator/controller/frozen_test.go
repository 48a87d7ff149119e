package controller_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/operator/source/sourcetest"
)

// silent is a server that accepts connections and never answers. silent counts the open
// connections.
type silent struct {
	address  string
	accepted chan struct{}

	mu         sync.Mutex
	open, most int
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &silent{address: listener.Addr().String(), accepted: make(chan struct{}, 1000)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.count(1)
			s.accepted <- struct{}{}
			go func() {
				defer s.count(-1)
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			}()
		}
	}()
	return s
}

func (s *silent) count(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += change
	s.most = max(s.most, s.open)
}

func TestSilentServersDelayNoOtherTeam(t *testing.T) {
	c := startCluster(t)
	server := newSilent(t)
	good := sourcetest.New(t, "", "")
	good.Commit(t, "Pulumi.yaml", projectFile("one"))
	startOperatorWith(t, c, func(opts *controller.Options) { opts.MaxConcurrent = 1 })
	bad, fine := newTeam(t, c), newTeam(t, c)
	const count = 12
	for i := range count {
		bad.apply(t, &v1.Stack{}, fmt.Sprintf("metadata: {name: hang-%d}\nspec:", i)+sourceEnv+
			fmt.Sprintf("  projectRepo: http://%s/x.git\n  branch: main\n", server.address))
	}
	// Every Stack has a status at once, even though there are fewer workers than Stacks.
	for i := range count {
		bad.await(t, fmt.Sprint("hang-", i), "seen", func(s *v1.Stack) bool {
			c := condition(s, v1.ReadyCondition)
			return strings.Contains(c.Message, "is looking up the commit") || strings.Contains(c.Message, "it took too long")
		})
	}
	<-server.accepted
	fine.apply(t, &v1.Program{}, values)
	fine.apply(t, &v1.Stack{}, valuesHead+valuesEnv)
	fine.await(t, "values", "Ready", ready)
	fine.apply(t, &v1.Stack{}, "metadata: {name: site}\nspec:"+sourceEnv+"  projectRepo: "+good.URL+"\n  branch: main\n")
	outputs(t, fine.await(t, "site", "Ready", ready), map[string]string{"version": `"one"`})

	server.mu.Lock()
	defer server.mu.Unlock()
	if server.most > 2 {
		t.Errorf("%d Stacks of one team asked at once, want at most 2: workers wait for them", server.most)
	}
}
