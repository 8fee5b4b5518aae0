//go:build !linux

package main

// linuxCommands are those that need Linux, of which there are none here.
type linuxCommands struct{}
