// Package planted tries the kit and the oracles on algorithms with faults. It has
// small models of the library's algorithms, each of which can be built with one fault
// out of a table. Without a fault a model agrees with its oracle and keeps every law
// of aqmtest; with one it must not. There is nothing here but tests.
package planted
