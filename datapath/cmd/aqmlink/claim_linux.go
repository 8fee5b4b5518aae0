package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
)

// runDirectory has a file for each link that aqmlink has made, with the names of its
// namespaces: what has to be removed when the process cannot do it any more. The
// process holds a lock on the file, which the kernel gives back however it ends.
var runDirectory = "/run/aqmlink"

// namespacePrefix begins the names of the namespaces that aqmlink makes. No other is
// ever removed.
const namespacePrefix = "aqmlink-"

// linkName is what a link can be called.
var linkName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)

// claim is the right to a link's name.
type claim struct {
	name string
	file *os.File
}

func claimPath(name string) string  { return filepath.Join(runDirectory, name+".claim") }
func socketPath(name string) string { return filepath.Join(runDirectory, name+".sock") }

// namespaceName returns the name of one end's namespace.
func namespaceName(link, end string) string { return namespacePrefix + link + "-" + end }

// takeClaim takes a name, after it has removed what processes left that are gone. It
// says what that was. namespaces are those that the caller is about to make.
func takeClaim(name string, say func(string, ...any), namespaces ...string) (*claim, error) {
	if !linkName.MatchString(name) {
		return nil, fmt.Errorf("a link is named with a to z, 0 to 9 and -, 41 at most, and not %q", name)
	}
	if err := os.MkdirAll(runDirectory, 0o755); err != nil {
		return nil, err
	}
	if err := removeLeftovers(say); err != nil {
		return nil, err
	}
	c, err := lockClaim(name, os.O_CREATE)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("link %q is up already, by process %s; stop that, or choose another --name", name, owner(name))
	}
	if err != nil {
		return nil, err
	}
	content := fmt.Sprintf("%d\n%s\n", os.Getpid(), strings.Join(namespaces, "\n"))
	if err := errors.Join(c.file.Truncate(0), writeAll(c.file, content)); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

func writeAll(file *os.File, content string) error {
	_, err := file.WriteAt([]byte(content), 0)
	return err
}

// lockClaim opens and locks the file of a name, as long as it is the one in the
// directory.
func lockClaim(name string, flags int) (*claim, error) {
	for {
		file, err := os.OpenFile(claimPath(name), flags|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = file.Close()
			return nil, err
		}
		var stat unix.Stat_t
		if err := unix.Fstat(int(file.Fd()), &stat); err == nil && stat.Nlink > 0 {
			return &claim{name, file}, nil
		}
		_ = file.Close() // another has removed it between the two
	}
}

// owner returns the process that holds a name.
func owner(name string) string {
	text, _ := os.ReadFile(claimPath(name))
	pid, _, _ := strings.Cut(string(text), "\n")
	return pid
}

// release gives the name back.
func (c *claim) release() error {
	_ = os.Remove(socketPath(c.name))
	return errors.Join(os.Remove(claimPath(c.name)), c.file.Close())
}

// removeLeftovers removes what the links have left whose process is gone. Their TUN
// devices went with it.
func removeLeftovers(say func(string, ...any)) error {
	files, err := filepath.Glob(claimPath("*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".claim")
		c, err := lockClaim(name, 0)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
			continue // in use, or just removed
		}
		if err != nil {
			return err
		}
		if err := c.removeLeftover(say); err != nil {
			return err
		}
	}
	return nil
}

func (c *claim) removeLeftover(say func(string, ...any)) error {
	text, err := io.ReadAll(c.file)
	if err != nil {
		return errors.Join(err, c.file.Close())
	}
	pid, names, _ := strings.Cut(string(text), "\n")
	var errs []error
	var removed []string
	for _, name := range strings.Fields(names) {
		if !strings.HasPrefix(name, namespacePrefix) {
			continue
		}
		errs = append(errs, netns.Remove(name))
		removed = append(removed, name)
	}
	slices.Sort(removed)
	say("removed what process %s left behind: link %s %s", pid, c.name, strings.Join(removed, " "))
	return errors.Join(append(errs, c.release())...)
}
