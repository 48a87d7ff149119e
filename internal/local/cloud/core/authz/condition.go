package authz

import (
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// maxConditions is the maximum number of cached conditions.
const maxConditions = 1000

// conditionCache compiles the conditions of role bindings, which are expressions in the Common Expression Language,
// and caches the programs.
type conditionCache struct {
	mu       sync.Mutex
	compiled map[string]cel.Program
}

// conditionEnv declares the variables and functions of conditions: the language's operators and functions without
// macros, as on Google Cloud. https://cloud.google.com/iam/docs/conditions-attribute-reference lists more attributes.
var conditionEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.ClearMacros(),
		cel.Variable("resource.name", cel.StringType),
		cel.Variable("resource.service", cel.StringType),
		cel.Variable("resource.type", cel.StringType),
		cel.Variable("request.time", cel.TimestampType),
	)
})

// compile returns the program of an expression, or an API error if the expression is invalid.
func (k *conditionCache) compile(expression string) (cel.Program, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if program, ok := k.compiled[expression]; ok {
		return program, nil
	}
	env, err := conditionEnv()
	if err != nil {
		return nil, err
	}
	tree, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, badCondition(issues.Errors()[0].Message)
	}
	if tree.OutputType() != cel.BoolType {
		return nil, badCondition("the result is of the type " + tree.OutputType().String() + ", not bool")
	}
	program, err := env.Program(tree, cel.CostLimit(100_000))
	if err != nil {
		return nil, badCondition(err.Error())
	}
	if k.compiled == nil || len(k.compiled) >= maxConditions {
		k.compiled = map[string]cel.Program{}
	}
	k.compiled[expression] = program
	return program, nil
}

func badCondition(fault string) *api.Error {
	return api.InvalidArgument("Condition expression compilation failed: %s. The emulated Google Cloud evaluates resource.name, "+
		"resource.service, resource.type and request.time.", strings.TrimSuffix(fault, "."))
}

// met reports whether a condition is true for a resource. A condition whose evaluation fails is false.
func (k *conditionCache) met(expression string, on api.Resource, now time.Time) (bool, error) {
	program, err := k.compile(expression)
	if err != nil {
		return false, err
	}
	service, _, _ := strings.Cut(on.Kind, "/")
	result, _, err := program.Eval(map[string]any{
		"resource.name":    on.Path,
		"resource.service": service,
		"resource.type":    on.Kind,
		"request.time":     now,
	})
	return err == nil && result.Value() == true, nil
}
