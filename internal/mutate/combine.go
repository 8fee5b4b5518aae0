package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// selector is the environment variable that chooses the fault of a test binary that
// has them all. Without it there is none.
const selector = "AQMKIT_FAULT"

// selectorFile is added to the package under test.
const selectorFile = `package %s

import (
	"os"
	"strconv"
)

var plantedFault = func() int { n, _ := strconv.Atoi(os.Getenv("` + selector + `")); return n }()
`

// combine returns the file's source with all its mutants: a function with faults
// chooses among its bodies first.
func combine(source []byte, mutants []mutant) []byte {
	var out bytes.Buffer
	from := 0
	for len(mutants) > 0 {
		at := mutants[0].brace + 1
		n := slices.IndexFunc(mutants, func(m mutant) bool { return m.brace+1 != at })
		if n < 0 {
			n = len(mutants)
		}
		out.Write(source[from:at])
		out.WriteString("\nswitch plantedFault {\n")
		for _, m := range mutants[:n] {
			fmt.Fprintf(&out, "case %d:\n%s\n", m.id, m.body)
			if m.void {
				out.WriteString("return\n")
			}
		}
		out.WriteString("}\n")
		from, mutants = at, mutants[n:]
	}
	out.Write(source[from:])
	return out.Bytes()
}

// A checker tells mutants that compile from those that do not.
type checker struct {
	fset  *token.FileSet
	files map[string]*ast.File
	conf  types.Config
}

func newChecker(dir string) (*checker, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export,GoFiles", "./"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s: %w", dir, err)
	}
	exports := map[string]string{}
	var l struct {
		ImportPath, Export string
		GoFiles            []string
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
	}
	c := &checker{fset: token.NewFileSet(), files: map[string]*ast.File{}}
	c.conf.Importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, f := range l.GoFiles { // the package comes after what it needs
		f = filepath.Join(dir, f)
		if c.files[f], err = parser.ParseFile(c.fset, f, nil, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *checker) compiles(m mutant) bool {
	f, err := parser.ParseFile(c.fset, m.file, m.source, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := []*ast.File{f}
	for name, other := range c.files {
		if name != m.file {
			files = append(files, other)
		}
	}
	_, err = c.conf.Check(filepath.Dir(m.file), c.fset, files, nil)
	return err == nil
}

// overlay writes the files that stand in for others, into folder tmp, and returns
// the name of the list of them, for the go command.
func overlay(tmp string, files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for name, source := range files {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		replace[abs] = filepath.Join(tmp, filepath.Base(name))
		if err := os.WriteFile(replace[abs], source, 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(tmp, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

// build compiles the tests of the package in dir. Binaries of the same program are
// the same.
func build(tmp, dir string, files map[string][]byte) (string, error) {
	list, err := overlay(tmp, files)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(tmp, strings.ReplaceAll(dir, "/", "-")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w -buildid=", "-overlay", list, "-o", binary, "./"+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c ./%s: %w\n%s", dir, err, out)
	}
	return binary, nil
}

// buildAll compiles the tests of the package in folder tests with all mutants of
// the one in dir. The mutants are in the order of their places.
func buildAll(tmp, tests, dir string, mutants []mutant) (string, error) {
	files := map[string][]byte{}
	for len(mutants) > 0 {
		file := mutants[0].file
		n := slices.IndexFunc(mutants, func(m mutant) bool { return m.file != file })
		if n < 0 {
			n = len(mutants)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		files[file] = combine(source, mutants[:n])
		files[filepath.Join(dir, "zz_fault.go")] = fmt.Appendf(nil, selectorFile, mutants[0].pkg)
		mutants = mutants[n:]
	}
	return build(tmp, tests, files)
}
