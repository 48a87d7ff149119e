package main

import (
	"context"
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// maxDepth is the maximum depth of a nested statement. The planner uses some 3 kB of stack for each level, and a stack of
// 1 GB ends the server for all of its users.
const maxDepth = 10_000

// maxLength is the maximum length of a statement in bytes, because the parser recurses in some statements, too. Programs that
// load data split it into statements of about 1 MB.
const maxLength = 2 << 20

// shallowParser rejects statements longer than maxLength before it parses them, and statements nested deeper than maxDepth
// before the server plans them. It also checks the texts of PREPARE, which SQL itself may have composed.
type shallowParser struct{ sql.Parser }

// ParseSimple implements sql.Parser.
func (p shallowParser) ParseSimple(query string) (ast.Statement, error) {
	if err := short(query); err != nil {
		return nil, err
	}
	statement, err := p.Parser.ParseSimple(query)
	return shallow(statement, err)
}

// Parse implements sql.Parser.
func (p shallowParser) Parse(ctx *sql.Context, query string, multi bool) (ast.Statement, string, string, error) {
	if err := short(query); err != nil {
		return nil, "", "", err
	}
	statement, parsed, rest, err := p.Parser.Parse(ctx, query, multi)
	statement, err = shallow(statement, err)
	return statement, parsed, rest, err
}

// ParseWithOptions implements sql.Parser.
func (p shallowParser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, options ast.ParserOptions) (ast.Statement, string, string, error) {
	if err := short(query); err != nil {
		return nil, "", "", err
	}
	statement, parsed, rest, err := p.Parser.ParseWithOptions(ctx, query, delimiter, multi, options)
	statement, err = shallow(statement, err)
	return statement, parsed, rest, err
}

// ParseOneWithOptions implements sql.Parser.
func (p shallowParser) ParseOneWithOptions(ctx context.Context, query string, options ast.ParserOptions) (ast.Statement, int, error) {
	if err := short(query); err != nil {
		return nil, 0, err
	}
	statement, next, err := p.Parser.ParseOneWithOptions(ctx, query, options)
	statement, err = shallow(statement, err)
	return statement, next, err
}

func short(query string) error {
	if len(query) > maxLength {
		return fmt.Errorf("the statement has %d bytes, more than the limit of %d: send several shorter ones", len(query), maxLength)
	}
	return nil
}

func shallow(statement ast.Statement, err error) (ast.Statement, error) {
	if err == nil && statement != nil {
		err = within(statement, maxDepth)
	}
	if err != nil {
		return nil, err
	}
	return statement, nil
}

// within returns an error if a node has more levels at and below it.
func within(node ast.SQLNode, levels int) error {
	if levels == 0 {
		return fmt.Errorf("the statement is nested deeper than %d levels: use fewer levels", maxDepth)
	}
	top := true
	return ast.Walk(func(below ast.SQLNode) (bool, error) {
		if top {
			top = false
			return true, nil
		}
		return false, within(below, levels-1)
	}, node)
}
