// Package cmdline holds what the commands share: flags in units of the field, and files
// that are there whole or not at all.
package cmdline
