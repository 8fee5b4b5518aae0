package gvisor

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	"gvisor.dev/gvisor/pkg/refs"
)

// TestMain has netstack keep account of all packet buffers and of the memory behind
// them, which benchmarks would feel, and looks for goroutines that are left over.
func TestMain(m *testing.M) {
	flag.Parse()
	counting := flag.Lookup("test.bench").Value.String() == ""
	if counting {
		refs.SetLeakMode(refs.LeaksPanic)
	}
	code := m.Run()
	if code == 0 {
		if err := leaked(); err != nil {
			fmt.Println(err)
			code = 1
		}
		if err := goleak.Find(); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked returns which packet buffers are still referenced. No other test may be
// running.
func leaked() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	refs.DoRepeatedLeakCheck()
	return nil
}
