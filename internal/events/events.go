// Package events lists the events of a platform's namespaces: what Flux, the operator and Kubernetes have reported about their
// objects.
package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// mostOfNamespace is the maximum number of events that List reads from a namespace. Kubernetes deletes events after an hour, but a team
// may create as many as its quota allows.
const mostOfNamespace = 2000

// Event is an event of an object. Reason and Message may be a text of a team.
type Event struct {
	// Time is the time of the last occurrence, and Count the number of occurrences.
	Time      time.Time `json:"time"`
	Count     int       `json:"count"`
	Namespace string    `json:"namespace"`
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	// Warning says that the reporter asks for attention.
	Warning bool   `json:"warning"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// List returns the events of namespaces, the oldest first.
func List(ctx context.Context, client kubernetes.Interface, namespaces []string) ([]Event, error) {
	all := []Event{}
	for _, namespace := range namespaces {
		list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{Limit: mostOfNamespace})
		if err != nil {
			return nil, fmt.Errorf("list the events of namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			all = append(all, of(&list.Items[i]))
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// of converts an event. Old reporters set timestamps and counts, and new ones a series (k8s.io/api/events/v1).
func of(e *corev1.Event) Event {
	event := Event{
		Namespace: e.Namespace, Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name,
		Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message, Count: max(1, int(e.Count)),
	}
	for _, at := range []time.Time{e.CreationTimestamp.Time, e.FirstTimestamp.Time, e.EventTime.Time, e.LastTimestamp.Time} {
		if at.After(event.Time) {
			event.Time = at
		}
	}
	if e.Series != nil {
		event.Count = max(event.Count, int(e.Series.Count))
		if e.Series.LastObservedTime.After(event.Time) {
			event.Time = e.Series.LastObservedTime.Time
		}
	}
	return event
}
