package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShorten(t *testing.T) {
	short, ok := shorten("go test fuzz v1\n[]byte(\"a\\x00bc\")\nbyte('x')\n[]byte(\"d\")\n", 2)
	assert.True(t, ok)
	assert.Equal(t, "go test fuzz v1\n[]byte(\"a\\x00\")\nbyte('x')\n[]byte(\"d\")\n", short)
	_, ok = shorten("go test fuzz v1\n[]byte(\"a)\n", 2)
	assert.False(t, ok)
}

// TestCover sees what is rare chosen first, and of equals the shortest.
func TestCover(t *testing.T) {
	reached := [][]string{{"a", "b"}, {"a", "b"}, {"c"}, {"a"}}
	inputs := []string{"long", "b", "c", "a"}
	assert.Equal(t, []int{1, 2}, cover(reached, inputs, 2))
	assert.Equal(t, []int{1, 2, 0, 3}, cover(reached, inputs, 9))
}
