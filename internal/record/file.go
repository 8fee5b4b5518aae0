package record

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is a recording that is being written to a file. The file appears under its
// name when it is complete.
type File struct {
	*Writer
	path string
	temp *os.File
	buf  *bufio.Writer
}

// Create begins a recording that Close will put at path, in place of what is there.
func Create(path string) (*File, error) {
	// A device or a pipe would be replaced by a file.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("record: %s is not a regular file", path)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	f := &File{path: path, temp: temp, buf: bufio.NewWriter(temp)}
	if f.Writer, err = NewWriter(f.buf); err != nil {
		f.Discard()
		return nil, err
	}
	return f, nil
}

// Close completes the recording and gives the file its name. After an error there is
// no file.
func (f *File) Close() error {
	steps := []func() error{
		f.Writer.Close,
		f.buf.Flush,
		func() error { return f.temp.Chmod(0o644) },
		f.temp.Sync,
		f.temp.Close,
		func() error { return os.Rename(f.temp.Name(), f.path) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			f.Discard()
			return fmt.Errorf("recording %s: %w", f.path, err)
		}
	}
	return nil
}

// Discard removes what was written. After Close it does nothing.
func (f *File) Discard() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}

// Open reads the beginning of the recording at path. The Closer closes the file.
func Open(path string) (*Reader, io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("record: %w", err)
	}
	r, err := NewReader(file)
	if err != nil {
		_ = file.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, file, nil
}
