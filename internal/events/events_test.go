package events

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestEventsAreInTheOrderOfTheirLastOccurrence(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 23, 12, minute, 0, 0, time.UTC) }
	client := fake.NewClientset(
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "old"}, Reason: "Third", LastTimestamp: metav1.NewTime(at(3)), Count: 7, Type: corev1.EventTypeWarning},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "new"}, Reason: "Second", EventTime: metav1.NewMicroTime(at(2))},
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "series"}, Reason: "Fourth", EventTime: metav1.NewMicroTime(at(1)),
			Series: &corev1.EventSeries{Count: 9, LastObservedTime: metav1.NewMicroTime(at(4))},
		},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "plain", CreationTimestamp: metav1.NewTime(at(1))}, Reason: "First"},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-shop", Name: "foreign"}, Reason: "Foreign"},
	)
	list, err := List(t.Context(), client, []string{"team-web", "platform"})
	if err != nil || len(list) != 4 {
		t.Fatalf("got %+v (%v)", list, err)
	}
	for i, want := range []string{"First", "Second", "Third", "Fourth"} {
		if list[i].Reason != want || list[i].Time != at(i+1) {
			t.Errorf("event %d is %+v, want %s", i, list[i], want)
		}
	}
	if list[0].Count != 1 || list[2].Count != 7 || list[3].Count != 9 || !list[2].Warning || list[3].Warning {
		t.Errorf("the counts and warnings are %+v", list)
	}
}
