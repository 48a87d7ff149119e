package policy

import (
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

// condition is the condition of a binding in Pulumi's form. Nil stands for a binding without a condition.
type condition struct {
	Description string `json:"description,omitempty"`
	Expression  string `json:"expression"`
	Title       string `json:"title"`
}

// conditionRules returns the rules of the input condition. Google treats bindings with different conditions as
// different bindings, so a change of the condition replaces the resource.
func conditionRules() rules.ByPath {
	return rules.ByPath{}.Each(rules.Rule{Replace: true},
		"condition condition.description condition.expression condition.title")
}

// expr returns the condition in the API's form.
func (c *condition) expr() *iam.Expr {
	if c == nil {
		return nil
	}
	return &iam.Expr{Description: c.Description, Expression: c.Expression, Title: c.Title}
}

// conditionOf converts a condition from the API's form to Pulumi's.
func conditionOf(e *iam.Expr) *condition {
	if e == nil {
		return nil
	}
	return &condition{Description: e.Description, Expression: e.Expression, Title: e.Title}
}

func sameCondition(a, b *iam.Expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Title == b.Title && a.Expression == b.Expression && a.Description == b.Description
}
