// Package wire reads what an AQM may know of a packet out of its bytes, and sets
// the codepoint CE in them: the two things that a datapath needs around an
// [aqm.AQM].
//
// [ParseIP] is for a TUN device, [ParseEthernet] for a TAP device or a raw socket;
// what the device puts before the packet (TUN packet information, a virtio-net
// header) is the caller's to cut off. [SetCE] carries out a Mark. None of them
// allocates, none panics whatever the bytes, and the work of each is bounded: the
// headers are read, the payload is not.
//
// # Source
//
// RFC 791 (IPv4), RFC 8200 (IPv6 and its extension headers), RFC 2675 (IPv6
// jumbograms), RFC 4302 (Authentication Header), RFC 9293 (TCP), RFC 3168 (ECN),
// RFC 1624 (incremental update of the checksum), IEEE 802.3 and 802.1Q (Ethernet
// and VLAN tags).
//
// # Size
//
// The size is what the IP header says. Bytes behind the packet, such as the padding
// of a short Ethernet frame, do not count; with fewer bytes than the header says
// the packet is truncated, which is an error.
//
// A length field of 0 has to be read otherwise, because a packet that segmentation
// offload will split (GSO) may be larger than 16 bits can say:
//
//   - IPv4, total length 0: the packet is the whole buffer (Linux BIG TCP, TSO).
//   - IPv6, payload length 0, and a Hop-by-Hop Options header that begins with the
//     Jumbo Payload option: the packet is as long as that says (RFC 2675, and the
//     BIG TCP of older Linux kernels).
//   - IPv6, payload length 0, in a buffer that is too large for the field: the packet
//     is the whole buffer (BIG TCP of newer Linux kernels).
//   - IPv6, payload length 0, otherwise: the packet is its header, as RFC 8200 has it.
//
// # Class
//
// The class of a TCP packet follows from its flags and from whether it has payload,
// as documented at [aqm.Class]: a SYN with payload (TCP Fast Open) is SYN|Data, the
// last segment of a transfer FIN|Data. A TCP packet without payload and without any
// of SYN, ACK, FIN and RST is Other.
//
// The TCP header is looked for behind up to eight IPv6 extension headers (Hop-by-Hop
// Options, Routing, Fragment, Destination Options, Authentication, Mobility, HIP,
// Shim6), and behind an Authentication Header in IPv4. The packet is Other, with
// its ECN field read all the same, wherever TCP is not found there or cannot be
// read:
//
//   - another protocol, ESP, No Next Header or a longer chain;
//   - a fragment but the first, and a first fragment without all of the TCP header;
//   - a header that is cut off by the packet's own length, or that gives itself an
//     impossible length: the network forwards such a packet, and so does a datapath.
//
// A first fragment of several has payload, wherever that is: it is never a PureACK.
// The packet inside a tunnel is not looked at: RFC 6040 makes the outer ECN field
// the one to mark.
//
// # Deviations
//
// RFC 8200 section 4.1 has Hop-by-Hop Options only directly behind the IPv6 header,
// and no header twice but Destination Options. Neither is enforced: to refuse a
// packet is its receiver's business.
package wire
