//go:build race

package aqmtest

const raceDetector = true
