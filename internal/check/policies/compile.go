package policies

import (
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// environments returns the environment of every expression: that of a cluster of this version.
var environments = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// interfaces are those of the client-go scheme: the patchers only copy objects.
func interfaces() admission.ObjectInterfaces {
	return admission.NewObjectInterfacesFromScheme(runtime.NewScheme())
}

// declared says which values the expressions of policies with parameters have.
var declared = cel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true}

// refusing is a policy that refuses objects. The API server compiles policies when they appear, and this package when an
// object needs them.
type refusing struct {
	policy  admissionv1.ValidatingAdmissionPolicy
	binding string

	once      sync.Once
	validator validating.Validator
}

// compiled returns the policy's evaluator. The API server compiles its expressions with the same calls
// (k8s.io/apiserver/pkg/admission/plugin/policy/validating, compilePolicy).
func (r *refusing) compiled() validating.Validator {
	r.once.Do(func() {
		spec := r.policy.Spec
		compiler, err := composed(spec.Variables)
		if err != nil {
			r.validator = validating.NewValidator(nil, nil, nil, nil, spec.FailurePolicy, err)
			return
		}
		var conditions, messages []cel.ExpressionAccessor
		for _, each := range spec.Validations {
			conditions = append(conditions, &validating.ValidationCondition{Expression: each.Expression, Message: each.Message, Reason: each.Reason})
			var message cel.ExpressionAccessor
			if each.MessageExpression != "" {
				message = &validating.MessageExpressionCondition{MessageExpression: each.MessageExpression}
			}
			messages = append(messages, message)
		}
		r.validator = validating.NewValidator(
			compiler.CompileCondition(conditions, declared, environment.StoredExpressions),
			matcher(compiler, spec.MatchConditions, spec.FailurePolicy, r.policy.Name),
			compiler.CompileCondition(nil, declared, environment.StoredExpressions),
			compiler.CompileCondition(messages, cel.OptionalVariableDeclarations{HasParams: true}, environment.StoredExpressions),
			spec.FailurePolicy, nil,
		)
	})
	return r.validator
}

// filling is the policy that changes objects.
type filling struct {
	policy admissionv1.MutatingAdmissionPolicy

	once     sync.Once
	compiler *cel.CompositedCompiler
	matcher  matchconditions.Matcher
	patchers []patch.Patcher
}

// compile compiles the policy's conditions and patches. Its expressions are constants of this program.
func (f *filling) compile() {
	f.once.Do(func() {
		spec := f.policy.Spec
		compiler, err := composed(spec.Variables)
		if err != nil {
			panic(err)
		}
		f.compiler, f.matcher = compiler, matcher(compiler, spec.MatchConditions, spec.FailurePolicy, f.policy.Name)
		patches := declared
		patches.HasPatchTypes = true
		for _, each := range spec.Mutations {
			expression := &patch.JSONPatchCondition{Expression: each.JSONPatch.Expression}
			f.patchers = append(f.patchers, patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(expression, patches, environment.StoredExpressions)))
		}
	})
}

// composed returns a compiler for expressions that use the variables of a policy.
func composed(variables []admissionv1.Variable) (*cel.CompositedCompiler, error) {
	compiler, err := cel.NewCompositedCompiler(environments())
	if err != nil {
		return nil, err
	}
	var named []cel.NamedExpressionAccessor
	for _, each := range variables {
		named = append(named, &validating.Variable{Name: each.Name, Expression: each.Expression})
	}
	compiler.CompileAndStoreVariables(named, declared, environment.StoredExpressions)
	return compiler, nil
}

func matcher(
	compiler *cel.CompositedCompiler, conditions []admissionv1.MatchCondition, failure *admissionv1.FailurePolicyType, name string,
) matchconditions.Matcher {
	all := make([]cel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		all[i] = (*matchconditions.MatchCondition)(&conditions[i])
	}
	return matchconditions.NewMatcher(compiler.CompileCondition(all, declared, environment.StoredExpressions), failure, "policy", "validate", name)
}
