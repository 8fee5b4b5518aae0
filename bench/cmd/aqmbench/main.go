package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/aqmkit/aqmkit/aqm"
	_ "golang.org/x/exp/stats"
)

func main() {}
