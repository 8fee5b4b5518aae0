package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A lab has what the tests of one package's mutants need: test binaries that have all
// of them, and one without a fault to compare survivors with.
type lab struct {
	options
	dir      string
	tmp      string
	valid    map[int]bool // by the mutants' id
	original []byte
	batches  []batch
}

func newLab(o options, dir string, mutants []mutant) (l *lab, err error) {
	l = &lab{options: o, dir: dir, valid: map[int]bool{}}
	if l.tmp, err = os.MkdirTemp("", "mutate"); err != nil {
		return nil, err
	}
	tmp := l.tmp
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
		}
	}()
	c, err := newChecker(dir)
	if err != nil {
		return nil, err
	}
	var valid []mutant
	for _, m := range mutants {
		if c.compiles(m) {
			l.valid[m.id] = true
			valid = append(valid, m)
		}
	}
	path, err := build(l.tmp, dir, nil)
	if err != nil {
		return nil, err
	}
	if l.original, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	own, err := buildAll(l.tmp, dir, dir, valid)
	if err != nil {
		return nil, err
	}
	catalog := ""
	if !o.quick && laws(dir) != "" {
		if catalog, err = buildAll(l.tmp, "internal/catalog", dir, valid); err != nil {
			return nil, err
		}
	}
	l.batches, err = batches(own, catalog, dir, o)
	return l, err
}

// testAll tests the mutants and stores what becomes of each at once.
func (l *lab) testAll(s *store, mutants []mutant) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		errs  []error
		done  int
		busy  int
		next  = make(chan mutant)
		start = time.Now()
		shown time.Time
	)
	for i := range l.workers {
		folder := filepath.Join(l.tmp, fmt.Sprint("worker", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		wg.Go(func() {
			for m := range next {
				r, err := l.test(m, folder)
				if err == nil {
					err = s.put(r)
				}
				mu.Lock()
				switch {
				case errors.Is(err, errBusy):
					busy++
				case err != nil:
					errs = append(errs, err)
				}
				if done++; time.Since(shown) > 2*time.Second || done == len(mutants) {
					shown = time.Now()
					fmt.Fprintf(os.Stderr, "\r%s: %d of %d mutants, %v ", l.dir, done, len(mutants), time.Since(start).Round(time.Second))
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		mu.Lock()
		broken := len(errs) > 0
		mu.Unlock()
		if broken {
			break
		}
		next <- m
	}
	close(next)
	wg.Wait()
	fmt.Fprintln(os.Stderr)
	if busy > 0 {
		fmt.Fprintf(os.Stderr, "%s: %d mutants without a result, as the machine has no time for them: run this again\n", l.dir, busy)
	}
	return errors.Join(errs...)
}

var errBusy = errors.New("the machine is too busy for the tests")

// test runs the batches on one mutant, until one kills it or, for all, until each
// kind of test has killed it or has had its chance. A survivor is compiled by itself,
// to see whether it is another program at all.
func (l *lab) test(m mutant, folder string) (result, error) {
	r := result{Package: l.dir, File: m.file, Line: m.line, Source: m.text, Fault: m.what, Key: m.key()}
	if !l.valid[m.id] {
		r.Fate = invalid
		return r, nil
	}
	r.By = map[string]string{}
	r.Fate = survived
	for _, b := range l.batches {
		if r.By[b.kind] != "" {
			continue
		}
		r.By[b.kind] = ""
		if out, _, err := b.test(m.id, l.memory); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && !outOfTime(err) {
				return r, errBusy
			}
			r.Fate, r.By[b.kind] = killed, killer(out, err)
			if !l.all {
				return r, nil
			}
		}
	}
	if r.Fate == survived && !l.quick {
		path, err := build(folder, l.dir, map[string][]byte{m.file: m.source})
		if err != nil {
			return r, err
		}
		binary, err := os.ReadFile(path)
		if err != nil {
			return r, err
		}
		if bytes.Equal(binary, l.original) {
			r.Fate, r.By = same, nil
		}
	}
	return r, nil
}
