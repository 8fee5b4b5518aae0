package main

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/alecthomas/kong"
	_ "github.com/aqmkit/aqmkit/aqm"
	_ "golang.org/x/sys/unix"
)

func main() {}
