//go:build !race

package aqmtest

const raceDetector = false
