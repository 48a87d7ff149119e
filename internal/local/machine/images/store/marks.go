package store

import (
	"context"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// Everyone as a user of an image allows all namespaces.
const Everyone = "*"

// Marks say who may use an image, and why the store keeps it. A reference that gets another target keeps Pinned, and loses
// the users of the old target: they have not shown that they may read the new one.
type Marks struct {
	// Users are the namespaces whose pods may use the image, or Everyone. Without users, only the platform engineer may.
	Users []string
	// Pinned images were pushed or pulled by a person: they keep their layers, and garbage collection leaves them.
	Pinned bool
	// Used is the time of the last use by a pod, rounded to hours. It is zero if no pod has used the image.
	Used time.Time
}

// The annotations in index.json that hold the marks.
const (
	usersMark  = "dev.strata.users"
	pinnedMark = "dev.strata.pinned"
	usedMark   = "dev.strata.used"
)

// May reports whether the pods of a namespace may use the image.
func (m Marks) May(namespace string) bool {
	return slices.Contains(m.Users, Everyone) || slices.Contains(m.Users, namespace)
}

// after returns the marks of a reference that had others before. same says that the target is the same.
func (m Marks) after(before Marks, same bool) Marks {
	m.Pinned = m.Pinned || before.Pinned
	if m.Used.Before(before.Used) {
		m.Used = before.Used
	}
	if same {
		m.Users = slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.Users, before.Users))))
	}
	return m
}

// marksOf decodes marks. An unknown time is that of an image that no pod has used.
func marksOf(annotations map[string]string) Marks {
	m := Marks{Pinned: annotations[pinnedMark] != ""}
	if users := annotations[usersMark]; users != "" {
		m.Users = strings.Split(users, ",")
	}
	if used, err := time.Parse(time.RFC3339, annotations[usedMark]); err == nil {
		m.Used = used
	}
	return m
}

// annotations encodes marks.
func (m Marks) annotations() map[string]string {
	result := map[string]string{}
	if len(m.Users) > 0 {
		result[usersMark] = strings.Join(m.Users, ",")
	}
	if m.Pinned {
		result[pinnedMark] = "true"
	}
	if !m.Used.IsZero() {
		result[usedMark] = m.Used.UTC().Format(time.RFC3339)
	}
	return result
}

// Use records that a pod uses an image now. It writes at most once an hour, and does nothing for a missing reference.
func (s *Store) Use(ctx context.Context, name string) error {
	now := time.Now().Truncate(time.Hour)
	found, err := s.Reference(name)
	if fault.Of(err) == fault.NotFound {
		return nil
	}
	if err != nil || !found.Used.Before(now) {
		return err
	}
	return s.change(ctx, func(manifests []v1.Descriptor) []v1.Descriptor {
		if i := slices.IndexFunc(manifests, named(name)); i >= 0 {
			manifests[i].Annotations[usedMark] = now.UTC().Format(time.RFC3339)
		}
		return manifests
	})
}
