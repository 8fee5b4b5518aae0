package netns

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func interfaces() (names []string, err error) {
	list, err := net.Interfaces()
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names, err
}

func TestNamespace(t *testing.T) {
	name := "aqmkit-test-" + strconv.Itoa(os.Getpid())
	ns, err := Create(name)
	if errors.Is(err, unix.EPERM) || errors.Is(err, os.ErrPermission) {
		t.Skipf("a network namespace cannot be made here: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { ns.Close() })

	before, err := os.Readlink(self)
	require.NoError(t, err)
	var inside string
	var seen []string
	require.NoError(t, ns.Do(func() (err error) {
		if seen, err = interfaces(); err != nil {
			return err
		}
		inside, err = os.Readlink(self)
		return err
	}))
	assert.NotEqual(t, before, inside)
	for _, name := range seen {
		assert.NotContains(t, []string{"eth0", "ens3"}, name, "a fresh namespace has no device of the host")
	}
	after, err := os.Readlink(self)
	require.NoError(t, err)
	assert.Equal(t, before, after)

	again, err := Open(name)
	require.NoError(t, err)
	require.NoError(t, again.Do(func() error {
		link, err := os.Readlink(self)
		assert.Equal(t, inside, link)
		return err
	}))
	require.NoError(t, again.Close())
	assert.FileExists(t, filepath.Join(dir, name), "only its maker removes it")

	_, err = Create(name)
	require.ErrorIs(t, err, os.ErrExist)
	require.NoError(t, ns.Close())
	assert.NoFileExists(t, filepath.Join(dir, name))
	require.NoError(t, ns.Close(), "a second time")
	_, err = Open(name)
	require.ErrorIs(t, err, os.ErrNotExist)

	// What a process leaves that was killed: the name, and what is mounted there.
	left, err := Create(name)
	require.NoError(t, err)
	require.NoError(t, left.file.Close())
	require.NoError(t, Remove(name))
	assert.NoFileExists(t, filepath.Join(dir, name))
	require.NoError(t, Remove(name), "a second time")
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o444))
	require.NoError(t, Remove(name), "a name without a namespace")
	assert.NoFileExists(t, filepath.Join(dir, name))
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b"} {
		_, err := Create(name)
		assert.Error(t, err, "%q", name)
		assert.Error(t, Remove(name), "%q", name)
	}
	own, err := Open("")
	require.NoError(t, err)
	require.NoError(t, own.Close())
	file, err := Open(self)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	plain, err := Open(os.DevNull)
	require.NoError(t, err)
	assert.Error(t, plain.Do(func() error { return nil }), "not a namespace")
	require.NoError(t, plain.Close())
}
