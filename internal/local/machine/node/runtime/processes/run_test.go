package processes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestExec(t *testing.T) {
	r := &run{commands: true, env: []string{"COLOUR=green", "PATH=/usr/bin:/bin"}, dir: t.TempDir()}
	for what, test := range map[string]struct {
		script string
		err    string // empty if the command succeeds
	}{
		"a command that ends well passes":      {"test $COLOUR = green", ""},
		"it runs in the pod's folder":          {"test $PWD = " + r.dir, ""},
		"a command that fails says why":        {"echo unwell; exit 3", "exit status 3: unwell"},
		"a command that does not end fails":    {"exec sleep 20", "killed"},
		"what a command leaves is not awaited": {"sleep 20 & exit 4", "exit status 4"},
		"nor does it make the command fail":    {"sleep 20 & exit 0", ""},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			err := r.Exec(ctx, []string{"/bin/sh", "-c", test.script})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("the outcome is %v, want %q", err, test.err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	r.commands = false
	if err := r.Exec(t.Context(), []string{"/bin/true"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("where the image allows no commands, the outcome is %v", err)
	}
}

func TestAddress(t *testing.T) {
	r := &run{ports: map[int32]int{8080: 12345}}
	if got := r.Address(8080); got != "127.0.0.1:12345" || !r.Listens(8080) {
		t.Errorf("the port of a listen flag is %s, listens: %v", got, r.Listens(8080))
	}
	if got := r.Address(9090); got != "127.0.0.1:9090" || r.Listens(9090) {
		t.Errorf("another port is %s, listens: %v", got, r.Listens(9090))
	}
}
