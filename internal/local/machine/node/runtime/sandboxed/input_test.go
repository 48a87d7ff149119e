package sandboxed

import (
	"context"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

func inputOf(c corev1.Container) *input { return newInput(runtime.Container{Spec: &c}) }

func TestAnInputOutlivesItsClientsUnlessItIsOpenOnce(t *testing.T) {
	for name, test := range map[string]struct {
		container corev1.Container
		want      string
	}{
		"open for all":               {corev1.Container{Stdin: true}, "first second"},
		"open once":                  {corev1.Container{Stdin: true, StdinOnce: true}, "first "},
		"open once, with a terminal": {corev1.Container{Stdin: true, StdinOnce: true, TTY: true}, "first second"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(test.container)
			go func() {
				in.copy(context.Background(), strings.NewReader("first "))
				in.copy(context.Background(), strings.NewReader("second"))
				in.Close()
			}()
			if got, err := io.ReadAll(in); err != nil || string(got) != test.want {
				t.Errorf("the container reads %q, %v, want %q", got, err, test.want)
			}
		})
	}
	if inputOf(corev1.Container{}) != nil {
		t.Error("a container without stdin has an input")
	}
}

func TestAClientLeavesAContainerThatReadsNothing(_ *testing.T) {
	ctx, leave := context.WithCancel(context.Background())
	leave()
	inputOf(corev1.Container{Stdin: true}).copy(ctx, strings.NewReader("unread")) // It would block forever.
	ended := inputOf(corev1.Container{Stdin: true})
	ended.Close()
	ended.copy(context.Background(), strings.NewReader("unread"))
}
