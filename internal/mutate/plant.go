package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one planted fault: a whole file with one place changed.
type mutant struct {
	id     int // 1 and up, in the package
	file   string
	pkg    string
	line   int
	text   string // the line, before the fault
	what   string
	source []byte
	brace  int    // offset of the function's body in the file without a fault
	body   []byte // with the fault
	void   bool   // the function has no results
}

// swaps are the operators that a fault confuses.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
	token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.AND: {token.OR}, token.OR: {token.AND}, token.SHL: {token.SHR}, token.SHR: {token.SHL},
}

var assigns = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
}

// plant returns the mutants of the package's files in dir, tests left out.
func plant(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		more, err := plantFile(file, source)
		if err != nil {
			return nil, err
		}
		mutants = append(mutants, more...)
	}
	for i := range mutants {
		mutants[i].id = i + 1
	}
	if len(mutants) == 0 {
		return nil, fmt.Errorf("nothing to plant a fault in: no Go files in folder %q", dir)
	}
	return mutants, nil
}

// plantFile walks the file's functions. Each fault is put in, printed and taken out
// again.
func plantFile(file string, source []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(source), "\n")
	var mutants []mutant
	var fn *ast.FuncDecl
	add := func(pos token.Pos, what string) {
		var whole, body bytes.Buffer
		if format.Node(&whole, fset, f) != nil || format.Node(&body, fset, fn.Body) != nil {
			return
		}
		line := fset.Position(pos).Line
		mutants = append(mutants, mutant{
			file: file, pkg: f.Name.Name, line: line, text: strings.TrimSpace(lines[line-1]), what: what, source: whole.Bytes(),
			brace: fset.Position(fn.Body.Lbrace).Offset, body: body.Bytes(), void: fn.Type.Results == nil,
		})
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			was := n.Op
			for _, op := range swaps[was] {
				n.Op = op
				add(n.OpPos, fmt.Sprintf("%v for %v", op, was))
			}
			n.Op = was
		case *ast.AssignStmt:
			if op, ok := assigns[n.Tok]; ok {
				was := n.Tok
				n.Tok = op
				add(n.TokPos, fmt.Sprintf("%v for %v", op, was))
				n.Tok = was
			}
		case *ast.IncDecStmt:
			was := n.Tok
			n.Tok = token.INC + token.DEC - was
			add(n.TokPos, fmt.Sprintf("%v for %v", n.Tok, was))
			n.Tok = was
		case *ast.BasicLit:
			if n.Kind == token.INT || n.Kind == token.FLOAT {
				was := n.Value
				for _, format := range []string{"(%s + 1)", "(%s - 1)"} {
					n.Value = fmt.Sprintf(format, was)
					add(n.ValuePos, fmt.Sprintf("%s for %s", n.Value, was))
				}
				n.Value = was
			}
		case *ast.Ident:
			if n.Name == "true" || n.Name == "false" {
				was := n.Name
				n.Name = map[string]string{"true": "false", "false": "true"}[was]
				add(n.NamePos, fmt.Sprintf("%s for %s", n.Name, was))
				n.Name = was
			}
			if n.Name == "max" || n.Name == "min" {
				was := n.Name
				n.Name = map[string]string{"max": "min", "min": "max"}[was]
				add(n.NamePos, fmt.Sprintf("%s for %s", n.Name, was))
				n.Name = was
			}
		case *ast.IfStmt:
			was := n.Cond
			n.Cond = &ast.ParenExpr{X: &ast.BinaryExpr{X: &ast.ParenExpr{X: was}, Op: token.LAND, Y: ast.NewIdent("false")}}
			add(n.If, "a condition that is never true")
			n.Cond = was
		case *ast.BlockStmt:
			dropStatements(&n.List, add)
		case *ast.CaseClause:
			dropStatements(&n.Body, add)
		}
		return true
	}
	for _, d := range f.Decls {
		// Messages and names are not what is tested here.
		var ok bool
		if fn, ok = d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Name.Name != "String" && fn.Name.Name != "Validate" {
			ast.Inspect(fn.Body, visit)
		}
	}
	return mutants, nil
}

// dropStatements leaves out, one after the other, the statements that assign or call.
func dropStatements(list *[]ast.Stmt, add func(token.Pos, string)) {
	was := *list
	for i, s := range was {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt:
		default:
			continue
		}
		*list = append(append([]ast.Stmt{}, was[:i]...), was[i+1:]...)
		add(s.Pos(), "a statement left out")
	}
	*list = was
}
