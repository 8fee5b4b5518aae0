// Package wire turns the bytes of a packet into an aqm.Packet.
package wire
