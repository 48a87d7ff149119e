package plans

import (
	"cmp"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/plan"
)

// known holds the Plans that the watch has seen, by namespace and name. It has neither their manifests nor their results: a Plan has up
// to a megabyte.
type known struct {
	mu    sync.Mutex
	plans map[string]map[string]*entry
}

// entry is a Plan.
type entry struct {
	uid     types.UID
	created time.Time

	// branch identifies the branch and the Kustomization of the Plan: a repository that several Kustomizations apply has a Plan for
	// each of them. It is empty for a Plan without a branch, and unknown until read is true.
	branch string
	read   bool

	// done says that the Plan is complete.
	done bool

	// stop stops the preview that runs for the Plan. It is nil while none runs.
	stop func()
}

// lineOf returns [entry.branch] of a Plan.
func lineOf(spec *plan.Spec) string {
	if spec.Branch == "" {
		return ""
	}
	return spec.Sync + "/" + spec.Branch
}

// after reports whether an entry's Plan is newer than another one. Of two Plans of the same second, the names decide.
func (e *entry) after(name string, other *entry, otherName string) bool {
	return cmp.Or(e.created.Compare(other.created), cmp.Compare(name, otherName)) > 0
}

// add adds a Plan that exists.
func (k *known) add(object *metav1.PartialObjectMetadata) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.plans == nil {
		k.plans = map[string]map[string]*entry{}
	}
	if k.plans[object.Namespace] == nil {
		k.plans[object.Namespace] = map[string]*entry{}
	}
	there := k.plans[object.Namespace]
	if old := there[object.Name]; old != nil && old.uid == object.UID {
		return
	}
	there[object.Name] = &entry{uid: object.UID, created: object.CreationTimestamp.Time}
}

// remove removes a Plan that is gone, and stops its preview.
func (k *known) remove(object *metav1.PartialObjectMetadata) {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := k.plans[object.Namespace]
	old := there[object.Name]
	if old == nil || old.uid != object.UID {
		return
	}
	if old.stop != nil {
		old.stop()
	}
	if delete(there, object.Name); len(there) == 0 {
		delete(k.plans, object.Namespace)
	}
}

// get returns a copy of an entry, or false if there is no such Plan, and the number of newer Plans of the namespace.
func (k *known) get(of types.NamespacedName) (e entry, newer int, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mine := k.plans[of.Namespace][of.Name]
	if mine == nil {
		return entry{}, 0, false
	}
	for name, other := range k.plans[of.Namespace] {
		if other.after(name, mine, of.Name) {
			newer++
		}
	}
	return *mine, newer, true
}

// change changes the entry of a Plan, unless the Plan is gone.
func (k *known) change(of types.NamespacedName, uid types.UID, change func(*entry)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if mine := k.plans[of.Namespace][of.Name]; mine != nil && mine.uid == uid {
		change(mine)
	}
}

// successor returns the name of a newer Plan of the same branch, or "". Plans of the same second do not replace each other: nobody knows
// which of them is newer.
func (k *known) successor(of types.NamespacedName) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	mine := k.plans[of.Namespace][of.Name]
	if mine == nil || !mine.read || mine.branch == "" {
		return ""
	}
	newest, at := "", mine.created
	for name, other := range k.plans[of.Namespace] {
		if other.read && other.branch == mine.branch && other.created.After(at) {
			newest, at = name, other.created
		}
	}
	return newest
}

// stopOlder stops the previews of older Plans of the same branch.
func (k *known) stopOlder(of types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mine := k.plans[of.Namespace][of.Name]
	if mine == nil || mine.branch == "" {
		return
	}
	for _, other := range k.plans[of.Namespace] {
		if other.read && other.branch == mine.branch && mine.created.After(other.created) && other.stop != nil {
			other.stop()
		}
	}
}

// oldest returns the names of the Plans of a namespace that are beyond the number that it keeps.
func (k *known) oldest(namespace string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := k.plans[namespace]
	if len(there) <= Kept {
		return nil
	}
	var old []string
	for name, mine := range there {
		newer := 0
		for other, e := range there {
			if e.after(other, mine, name) {
				newer++
			}
		}
		if newer >= Kept {
			old = append(old, name)
		}
	}
	return old
}
