package cost

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aqmkit/aqmkit/internal/regime"
)

//go:embed peers/*.c peers/*.h
var sources embed.FS

// program is a peer in C.
type program struct {
	name   string
	binary string
	source string
	flags  []string
	libs   []string
	dpdk   bool
}

var (
	laws     = program{name: "C -O3, called", binary: "laws", source: "laws.c", libs: []string{"-lm"}}
	inlined  = program{name: "C -O3, one loop", binary: "inlined", source: "fifo.c", flags: []string{"-DINLINED"}, libs: []string{"-lm"}}
	pointers = program{name: "C -O3, function pointers", binary: "pointers", source: "fifo.c", libs: []string{"-lm"}}
	dpdk     = program{name: "DPDK -O3, called", binary: "dpdk", source: "dpdk.c", flags: []string{"-DALLOW_EXPERIMENTAL_API", "-Wno-deprecated-declarations"}, libs: []string{"-lrte_sched", "-lrte_eal", "-lm"}, dpdk: true}
)

// programs is what could be built, in a folder of its own.
type programs struct {
	folder  string
	built   map[string]bool
	missing []string
}

// build compiles the peers in C, as far as there is what they need.
func build() (*programs, error) {
	folder, err := os.MkdirTemp("", "aqmbench-peers-")
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	c := &programs{folder: folder, built: map[string]bool{}, missing: []string{}}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		c.missing = append(c.missing, "gcc, and with it DPDK and our own C (Debian: apt-get install gcc libc6-dev libdpdk-dev pkg-config)")
		return c, nil
	}
	files, err := sources.ReadDir("peers")
	for _, f := range files {
		var text []byte
		if text, err = sources.ReadFile("peers/" + f.Name()); err == nil {
			err = os.WriteFile(filepath.Join(folder, f.Name()), text, 0o600)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("cost: %w", err)
	}
	for _, p := range []program{laws, inlined, pointers, dpdk} {
		args := append([]string{"-O3"}, p.flags...)
		if p.dpdk {
			flags, err := exec.Command("pkg-config", "--cflags", "libdpdk").Output()
			if err != nil {
				c.missing = append(c.missing, "DPDK (Debian: apt-get install libdpdk-dev pkg-config)")
				continue
			}
			args = append(args, strings.Fields(string(flags))...)
		}
		args = append(args, p.source, "-o", p.binary)
		cmd := exec.Command(gcc, append(args, p.libs...)...)
		cmd.Dir = folder
		if text, err := cmd.CombinedOutput(); err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
			c.missing = append(c.missing, fmt.Sprintf("%s, which gcc does not build: %s", p.name, first))
			continue
		}
		c.built[p.binary] = true
	}
	return c, nil
}

func (c *programs) has(p program) bool { return c.built[p.binary] }

func (c *programs) close() { _ = os.RemoveAll(c.folder) }

// run returns rounds samples of p under g's load: nanoseconds per packet, and the
// shares of the packets that were marked or dropped.
func (c *programs) run(p program, g regime.Regime, row string, rounds int) (ns, signals []float64, err error) {
	load := filepath.Join(c.folder, "load")
	var b []byte
	for _, s := range g.Load {
		for _, v := range []uint32{s.Wait, uint32(s.Backlog), s.Size} {
			b = binary.NativeEndian.AppendUint32(b, v)
		}
		for _, v := range []uint16{uint16(s.ECN), s.Level} {
			b = binary.NativeEndian.AppendUint16(b, v)
		}
	}
	if err := os.WriteFile(load, b, 0o600); err != nil {
		return nil, nil, fmt.Errorf("cost: %w", err)
	}
	out, err := exec.Command(filepath.Join(c.folder, p.binary), load, strconv.Itoa(rounds), strconv.Itoa(packets), row).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, nil, fmt.Errorf("cost: %s: %w", p.name, err)
	}
	for line := range strings.Lines(string(out)) {
		var cost, share float64
		if _, err := fmt.Sscanf(strings.TrimPrefix(line, row+"\t"), "%g\t%g\n", &cost, &share); err != nil {
			return nil, nil, fmt.Errorf("cost: %s says %q, which is no sample", p.name, line)
		}
		ns, signals = append(ns, cost), append(signals, share)
	}
	if len(ns) != rounds {
		return nil, nil, fmt.Errorf("cost: %s took %d samples, not %d", p.name, len(ns), rounds)
	}
	return ns, signals, nil
}
