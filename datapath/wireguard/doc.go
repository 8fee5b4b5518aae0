// Package wireguard puts an [aqm.AQM] in front of a WireGuard tunnel of wireguard-go: a
// [Device] is a tun.Device around another one, between the TUN device and WireGuard.
//
//	tunnel, err := wireguard.Wrap(tunDevice, wireguard.Config{...})
//	dev := device.NewDevice(tunnel, conn.NewDefaultBind(), logger)
//
// What the host sends through the tunnel waits here, before it is encrypted, under the
// algorithm; what comes from the peers passes at once. Packets of all peers share the
// queues.
//
// # Who says how fast
//
// With a Rate the device paces: WireGuard's Read gets packets at that rate. The Rate has
// to be below what the path to the peer carries, so that the queue is here and not
// there; Overhead makes it count the bytes on the path. Without, Read returns what there
// is whenever WireGuard calls it, and a queue builds only while WireGuard itself is the
// bottleneck: it takes up to 1024 batches into queues of its own before it stops
// reading, where no algorithm sees them. So without a Rate this package protects from an
// overloaded processor, late, and not from a slow link.
//
// Timers of the Go runtime fire up to a millisecond late. The device then catches up, in
// batches of what has become due.
//
// # Queues
//
// One queue for each algorithm in Config.AQMs, chosen by a hash of the inner packet's
// addresses, protocol and ports, and served in turn, a frame's worth of bytes each
// (deficit round robin).
//
// # Marks and drops
//
// A mark sets CE in the inner IP header before the packet is encrypted. So it reaches
// the receiver whatever the tunnel is carried over. What is not ECN-capable is dropped
// instead. What package wire cannot parse is judged as not ECN-capable and of class
// Other.
//
// # Not covered
//
// The outer header. RFC 6040 wants the inner ECN field copied to the outer header on
// the way in, and a CE that the outer header gained under way to be brought over to the
// inner one on the way out. wireguard-go does neither: its UDP packets are NotECT. So a
// router under way drops them where it could have marked, and there is no CE to bring over.
// The handshake and keepalives do not pass through the TUN device, and so neither wait
// in the queue nor count for the Rate.
//
// # Buffers
//
// A packet is copied into the queue and out of it again; a buffer belongs to the inner
// device, the queue or WireGuard, one at a time. The buffers of the queue are used again.
package wireguard
