package volume

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// token is a service account token in a volume, and the time of its renewal.
type token struct {
	value []byte
	renew time.Time
}

// token returns a token of the pod's service account, bound to the pod, for a file of a volume. It requests a new
// token after four fifths of the old one's lifetime, as the kubelet does. The caller must hold the lock.
func (v *Volumes) token(ctx context.Context, volume string, spec *corev1.ServiceAccountTokenProjection) ([]byte, error) {
	key := volume + "/" + spec.Path
	if t, ok := v.tokens[key]; ok && v.clock.Now().Before(t.renew) {
		return t.value, nil
	}
	o := v.pod.Pod()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: spec.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: o.Name, UID: o.UID},
	}}
	if spec.Audience != "" {
		request.Spec.Audiences = []string{spec.Audience}
	}
	account := o.Spec.ServiceAccountName
	answer, err := v.pod.Client.CoreV1().ServiceAccounts(o.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request a token for service account %s: %w", account, err)
	}
	life := time.Until(answer.Status.ExpirationTimestamp.Time)
	// Round(0) makes the comparison use the wall clock: the monotonic clock stops while the machine sleeps, but tokens
	// expire.
	t := token{value: []byte(answer.Status.Token), renew: v.clock.Now().Round(0).Add(life * 4 / 5)}
	v.tokens[key] = t
	return t.value, nil
}
