package attack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// servedWithin limits the time until Flux and the operator have applied the victim's push during an attack. It is generous;
// the benchmark has the limit for a quiet machine.
const servedWithin = 100 * time.Second

func availabilityAttacks() []attack {
	return []attack{
		{"an address that answers slowly", availability, byPush, whileServed(pushed("resources: ['{BAIT}/slow.yaml']")), "", untouched},
		{"a file of an address that answers slowly", availability, byPush, whileServed(pushed("configMapGenerator: [{name: x, files: ['x={BAIT}/slow']}]")), "", untouched},
		{"a body of 600 MB", availability, byPush, whileServed(pushed("configMapGenerator: [{name: x, files: ['x={BAIT}/huge']}]")), "", untouched},
		{"a build whose output doubles repeatedly", availability, byPush, whileServed(pushed(doubling(60))), "", untouched},
		{"a source that answers slowly", availability, byKubeconfig, whileServed(fetched("{BAIT}/slow.git")), "", untouched},
		{"Programs that never end", availability, byRun, whileServed(endless(2 * slots)), "", nil},
		{"a Program that multiplies", availability, byRun, whileServed(multiplying), "", nil},
		{"a Program that multiplies, to its end", availability, byRun, scripted(multiply), "more than 2048 processes and threads", nil},
		{"a push every moment", availability, byPush, whileServed(pushing(0)), "", nil},
		{"a repository of 200 MB", availability, byPush, whileServed(large(200 << 20)), "", nil},
	}
}

// doubling returns a ConfigMap whose replacements double its content, times times.
func doubling(times int) string {
	text := "configMapGenerator: [{name: a, literals: [a=b]}]\nreplacements:\n"
	for i := range times {
		text += fmt.Sprintf("- {source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x%d], options: {create: true}}]}\n", i)
	}
	return text
}

// siege starts a continuous attack, and returns a function that ends it.
type siege func(context.Context, *field) (end func() error, err error)

// whileServed measures how long the victim's push takes during a siege. A stopped siege does no harm.
func whileServed(s siege) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) (err error) {
		end, err := s(ctx, f)
		if end != nil {
			defer func() { err = errors.Join(err, end()) }()
		}
		if err != nil && !errors.Is(err, errStopped) {
			return err
		}
		began := time.Now()
		if err := f.web.works(ctx); err != nil {
			return fmt.Errorf("during the attack: %w", err)
		}
		return within(time.Since(began), servedWithin, "to serve the other team")
	}
}

// pushed pushes a kustomization.yaml, which Flux builds.
func pushed(kustomization string) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		before, err := f.mallory.head(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := f.mallory.push(ctx, map[string]string{"kustomization.yaml": kustomizationHead + f.fill(kustomization) + "\n"}); err != nil {
			return nil, err
		}
		return func() error { return f.mallory.undo(ctx, before) }, nil
	}
}

// fetched creates a Stack whose project comes from an address.
func fetched(address string) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		name := "fetch-" + unique()[:8]
		_, err := f.mallory.apply(ctx, stacks, fmt.Sprintf("apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: %s}\nspec: {stack: dev, projectRepo: %q, branch: main, serviceAccountName: mallory}\n",
			name, f.fill(address)))
		return func() error { return f.mallory.end(ctx, name) }, err
	}
}

// slots is the number of runs at a time on a small machine.
const slots = 2

// endless starts count Programs that run for a day.
func endless(count int) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		return f.mallory.many(ctx, count, secretBody, f.mallory.kubeconfigOf("sleep 86400"))
	}
}

// multiply is a script whose processes endlessly start others.
const multiply = "more() { more | more & }; more; sleep 86400"

// multiplying starts Programs that run multiply, one for each slot.
func multiplying(ctx context.Context, f *field) (func() error, error) {
	return f.mallory.many(ctx, slots, secretBody, f.mallory.kubeconfigOf(multiply))
}

// crowd creates count Stacks with little work.
func crowd(count int) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		return f.mallory.many(ctx, count, "  outputs: {a: 1}", "")
	}
}

// many starts count Stacks. The returned function deletes them all.
func (t *team) many(ctx context.Context, count int, body, config string) (func() error, error) {
	prefix := "many-" + unique()[:8]
	var names []string
	end := func() error {
		var errs []error
		// Delete all of them before waiting for any.
		for _, name := range names {
			go func() { _ = t.remove(context.WithoutCancel(ctx), stacks, name) }()
		}
		for _, name := range names {
			errs = append(errs, t.end(ctx, name))
		}
		return errors.Join(errs...)
	}
	for i := range count {
		name := fmt.Sprintf("%s-%d", prefix, i)
		if err := t.start(ctx, name, body, config); err != nil {
			return end, err
		}
		names = append(names, name)
	}
	return end, nil
}

// pushing pushes repeatedly, with a pause between pushes.
func pushing(pause time.Duration) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		going, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			var err error
			for going.Err() == nil && (err == nil || errors.Is(err, errStopped)) {
				// A cancelled push would leave git's lock.
				_, err = f.mallory.push(context.WithoutCancel(ctx), map[string]string{"note.txt": unique()})
				select {
				case <-going.Done():
				case <-time.After(pause):
				}
			}
			if errors.Is(err, errStopped) {
				err = nil
			}
			ended <- err
		}()
		return func() error { stop(); return <-ended }, nil
	}
}

// large pushes a file of the given size in bytes.
func large(bytes int) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		before, err := f.mallory.head(ctx)
		if err != nil {
			return nil, err
		}
		_, err = f.mallory.push(ctx, map[string]string{"large": noise(bytes)})
		if err != nil {
			return nil, err
		}
		return func() error { return f.mallory.undo(ctx, before) }, nil
	}
}
