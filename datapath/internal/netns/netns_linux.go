// Package netns runs functions inside Linux network namespaces, and makes and removes
// namespaces of the kind that ip-netns(8) knows.
package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// dir is where ip-netns(8) keeps the names.
const dir = "/run/netns"

// self is the calling thread's namespace; /proc/self would be the first thread's.
const self = "/proc/thread-self/ns/net"

// Namespace is a network namespace that is held open.
type Namespace struct {
	file *os.File
	made string // the name's path if Create made it
}

// Create makes a namespace and gives it a name that is not taken.
func Create(name string) (*Namespace, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("netns: %w", err)
	}
	path := filepath.Join(dir, name)
	mountPoint, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return nil, fmt.Errorf("netns: %w", err)
	}
	_ = mountPoint.Close()
	ns := &Namespace{made: path}
	err = discardedThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		if err := unix.Mount(self, path, "none", unix.MS_BIND, ""); err != nil {
			return os.NewSyscallError("mount", err)
		}
		var err error
		ns.file, err = os.Open(self)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("netns: %s: %w", name, err), ns.Close())
	}
	return ns, nil
}

// Open opens the namespace of that name, or at that path if it has a slash. The
// empty name is the caller's own namespace.
func Open(name string) (*Namespace, error) {
	path := name
	switch {
	case name == "":
		path = self
	case !strings.Contains(name, "/"):
		path = filepath.Join(dir, name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("netns: %w", err)
	}
	return &Namespace{file: file}, nil
}

// Do calls f on a thread inside the namespace. What f opens there stays there: a
// socket or device may be used from anywhere afterwards.
func (ns *Namespace) Do(f func() error) error {
	return discardedThread(func() error {
		if err := unix.Setns(int(ns.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("netns: %s: %w", ns.file.Name(), os.NewSyscallError("setns", err))
		}
		return f()
	})
}

// Close lets go of the namespace and, if Create made it, removes its name. The
// kernel removes a namespace with all its devices when nothing uses it any more.
func (ns *Namespace) Close() error {
	var errs []error
	if ns.file != nil {
		errs = append(errs, ns.file.Close())
		ns.file = nil
	}
	if ns.made != "" {
		errs = append(errs, unlink(ns.made))
		ns.made = ""
	}
	return errors.Join(errs...)
}

// discardedThread calls f on a thread of its own, which ends with it: a thread that
// was in another namespace is not given back to the scheduler.
func discardedThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		done <- f()
	}()
	return <-done
}

// Remove removes the name of a namespace that another process has made and left, as
// ip netns delete does. A name that is not there is no error.
func Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return unlink(filepath.Join(dir, name))
}

func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return fmt.Errorf("netns: name %q", name)
	}
	return nil
}

// unlink removes a name and what is mounted there.
func unlink(path string) error {
	// Not mounted is what a failed Create leaves.
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("netns: %s: %w", path, os.NewSyscallError("unmount", err))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("netns: %w", err)
	}
	return nil
}
