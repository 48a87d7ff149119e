package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/test/long"
)

// killVariable sets the number of rounds for longer tests.
const killVariable = "STRATA_KILL_ROUNDS"

// changing is a Program that creates, changes and deletes one object in each round.
const changing = `
resources:
  kept: {type: kubernetes:core/v1:ConfigMap, properties: {metadata: %[2]s, data: {round: "%[1]d"}}}
  new%[1]d: {type: kubernetes:core/v1:ConfigMap, properties: {metadata: %[2]s, data: {of: "${kept.metadata.name}"}}}
outputs: {kept: "${kept.metadata.name}"}
`

func TestRunsKilledAtAnyMomentDoubleAndLoseNothing(t *testing.T) {
	long.Test(t)
	f, c, request := kubernetesFixture(t)
	rounds, err := strconv.Atoi(os.Getenv(killVariable))
	if err != nil {
		rounds = 5
	}
	namespace := c.namespace(t)
	metadata := fmt.Sprintf("{namespace: %s, annotations: {pulumi.com/deletionPropagationPolicy: background}}", namespace)
	kept, whole := "", 2*time.Second
	killed := 0
	for round := range rounds {
		req := request(fmt.Sprintf(changing, round, metadata))
		req.Env["PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE"] = "true"
		// The moments are spread over the duration of a run.
		moment := rand.N(whole)
		stop := time.AfterFunc(moment, func() { f.kill(t) })
		began := time.Now()
		_, err := f.Run(t.Context(), req)
		if stop.Stop() {
			whole = time.Since(began)
		}
		if err != nil {
			var failure *engine.Error
			if !errors.As(err, &failure) || failure.Reason != engine.Interrupted {
				t.Fatalf("round %d, killed after %v: %v", round, moment, err)
			}
			killed++
		}
		req.Interrupted = err != nil
		result := f.mustRun(t, req)
		maps, err := c.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, item := range maps.Items {
			if item.Name != "kube-root-ca.crt" {
				names = append(names, item.Name)
			}
		}
		if len(names) != 2 {
			t.Fatalf("round %d, killed after %v: objects %v, want two", round, moment, names)
		}
		now := string(result.Outputs["kept"].Value)
		if kept != "" && now != kept {
			t.Fatalf("round %d, killed after %v: %s was replaced by %s", round, moment, kept, now)
		}
		kept = now
	}
	t.Logf("%d of %d runs were killed", killed, rounds)
}
