package conformance

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// inputsProgram shows its config.
const inputsProgram = `
configuration: {text: {type: String}, count: {type: Number}, shape: {type: String}, token: {type: String}}
resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {name: NAME-settings, OWN}, data: {text: "${text}", shape: "${shape}"}}
  login: {type: "kubernetes:core/v1:Secret", properties: {metadata: {name: NAME-login, OWN}, stringData: {token: "${token}"}}}
outputs: {text: "${text}", count: "${count}", shape: "${shape}", token: "${token}"}
`

const inputsStack = `
config: {text: hello, count: 7, shape: square}
configRef: {shape: {name: NAME-shapes, key: shape}}
secretsRef: {token: {type: Secret, secret: {name: NAME-token, key: token}}}
`

// inputs passes config to a Program.
func inputs(s *scene) {
	token := "token-" + s.id + "-of-the-suite"
	s.values(configMaps, s.name+"-shapes", map[string]any{"shape": "round"})
	s.values(secrets, s.name+"-token", map[string]any{"token": token})
	s.program(inputsProgram)
	s.stack(s.name, inputsStack)
	var stack *v1.Stack
	s.hold("config", func() (seen string, err error) {
		if stack, err = s.await(s.name, "Ready", observe.Ready); err != nil {
			return "", err
		}
		return observe.Outputs(stack, map[string]string{"text": `"hello"`, "count": "7"})
	})
	s.hold("config-ref", func() (string, error) { return observe.Outputs(stack, map[string]string{"shape": `"round"`}) })
	s.hold("secrets-ref", func() (string, error) {
		if _, err := s.holds(secrets, s.name+"-login", "token", token); err != nil {
			return "", err
		}
		return observe.Outputs(stack, map[string]string{"token": `"` + v1.SecretOutput + `"`})
	})
	if s.SharedOnly {
		return
	}
	s.values(configMaps, s.name+"-shapes", map[string]any{"shape": "oval"})
	s.hold("input-changed", func() (string, error) {
		after, err := s.await(s.name, "Ready after another run", observe.ReadyAfter(stack))
		if err != nil {
			return "", err
		}
		return observe.Outputs(after, map[string]string{"shape": `"oval"`})
	})
}

// passphraseVariable encrypts the state of every backend but a Pulumi service.
const passphraseVariable = "PULUMI_CONFIG_PASSPHRASE"

// passphrase gives a Stack a wrong passphrase, and the right one again.
func passphrase(s *scene) {
	const wrong = "envRefs: {" + passphraseVariable + ": {type: Literal, literal: {value: not-the-passphrase}}}"
	s.program(`
resources: {password: {type: "random:RandomPassword", properties: {length: 24}}}
outputs: {password: "${password.result}"}
`)
	s.stack(s.name, "")
	s.hold("env-refs", func() (string, error) {
		if !slices.Contains(s.variables, passphraseVariable) {
			return "", &skipped{"Secret " + s.Secret + " has no " + passphraseVariable}
		}
		ready, err := s.await(s.name, "Ready", observe.Ready)
		if err != nil {
			return "", err
		}
		if provider := ready.Spec.SecretsProvider; provider != "" {
			return "", &skipped{"a key encrypts the states, and not a passphrase: " + observe.Line(provider)}
		}
		s.repairs = append(s.repairs, s.recreate(s.name, ""))
		if err := s.putStack(s.ctx, s.name, wrong); apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			return "", &skipped{"the cluster does not admit another passphrase: " + observe.Line(err.Error())}
		} else if err != nil {
			return "", err
		}
		failed, err := s.await(s.name, "failed with another passphrase", observe.Failed)
		if err != nil {
			return "", err
		}
		if err := s.putStack(s.ctx, s.name, ""); err != nil {
			return "", err
		}
		_, err = s.settled(s.name)
		return observe.Describe(failed), err
	})
}

// short creates a Stack with nothing but a reference to its Program.
func short(s *scene) {
	s.program(smallProgram)
	s.hold("short-stack", func() (string, error) {
		if !s.team {
			return "", &skipped{"namespace " + s.Namespace + " belongs to no team of a Strata platform"}
		}
		s.stacks = append(s.stacks, s.name)
		if err := s.apply(s.ctx, stacks, s.name, map[string]any{"spec": map[string]any{"programRef": map[string]any{"name": s.name}}}); err != nil {
			return "", err
		}
		if _, err := s.settled(s.name); err != nil {
			return "", err
		}
		object, err := s.find(stacks, s.name)
		if err != nil {
			return "", err
		}
		return filledIn(object)
	})
}

// filledIn checks the fields of a short Stack.
func filledIn(object *unstructured.Unstructured) (string, error) {
	var missing []string
	for _, path := range []string{"stack", "serviceAccountName", "destroyOnFinalize", "envRefs.PULUMI_BACKEND_URL", "envRefs." + passphraseVariable} {
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
		if value == nil || value == "" || value == false {
			missing = append(missing, "spec."+path)
		}
	}
	if len(missing) > 0 {
		return "", errors.New("not filled in: " + strings.Join(missing, ", "))
	}
	account, _, _ := unstructured.NestedString(object.Object, "spec", "serviceAccountName")
	return "it runs as " + account, nil
}
