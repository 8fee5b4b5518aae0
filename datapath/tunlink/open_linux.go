package tunlink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
)

// Open makes the devices of a link, gives them their addresses and sets them up. They
// are gone after Close, or when the process ends.
func Open(c Config) (*Link, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	a, nameA, err := openEnd(c.EndA, c.MTU)
	if err != nil {
		return nil, fmt.Errorf("tunlink: end A: %w", err)
	}
	b, nameB, err := openEnd(c.EndB, c.MTU)
	if err != nil {
		_ = a.Close()
		return nil, fmt.Errorf("tunlink: end B: %w", err)
	}
	l, err := newLink(c, systemClock{time.Now()}, a, b)
	if err != nil {
		return nil, err
	}
	l.names = [2]string{nameA, nameB}
	return l, nil
}

// openEnd makes the device of one end inside its namespace.
func openEnd(e End, mtu int) (dev *os.File, name string, err error) {
	ns, err := netns.Open(e.Namespace)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = ns.Close() }()
	err = ns.Do(func() error {
		if dev, name, err = openTUN(e.Device); err != nil {
			return err
		}
		if err := configure(name, mtu, e.addresses()); err != nil {
			_ = dev.Close()
			return fmt.Errorf("device %s: %w", name, err)
		}
		return nil
	})
	return dev, name, err
}

// openTUN makes a TUN device in the calling thread's namespace. Without
// IFF_VNET_HDR the kernel hands over whole packets: segmented to the MTU, with their
// checksums filled in.
func openTUN(device string) (dev *os.File, name string, err error) {
	const path = "/dev/net/tun"
	ifr, err := unix.NewIfreq(device)
	if err != nil {
		return nil, "", fmt.Errorf("device %q: %w", device, err)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		_ = unix.Close(fd)
		return nil, "", fmt.Errorf("device %q: %w", device, os.NewSyscallError("TUNSETIFF", err))
	}
	// Only now: before it has a device the file cannot be polled.
	return os.NewFile(uintptr(fd), path), ifr.Name(), nil
}

// deviceQueue is how many packets the device holds that were not yet read: it must
// not be the place where packets are lost while the reader waits for a processor.
const deviceQueue = 10_000

// configure sets up a device in the calling thread's namespace.
func configure(name string, mtu int, addresses []netip.Prefix) error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(sock) }()
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	set := func(op string, request uint, value uint32) error {
		ifr.SetUint32(value)
		return os.NewSyscallError(op, unix.IoctlIfreq(sock, request, ifr))
	}
	if err := errors.Join(
		set("SIOCSIFMTU", unix.SIOCSIFMTU, uint32(mtu)),
		set("SIOCSIFTXQLEN", unix.SIOCSIFTXQLEN, deviceQueue),
	); err != nil {
		return err
	}
	for _, address := range addresses {
		if err := unix.IoctlIfreq(sock, unix.SIOCGIFINDEX, ifr); err != nil {
			return os.NewSyscallError("SIOCGIFINDEX", err)
		}
		if err := addAddress(ifr.Uint32(), address); err != nil {
			return fmt.Errorf("address %v: %w", address, err)
		}
	}
	if err := unix.IoctlIfreq(sock, unix.SIOCGIFFLAGS, ifr); err != nil {
		return os.NewSyscallError("SIOCGIFFLAGS", err)
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP)
	return os.NewSyscallError("SIOCSIFFLAGS", unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, ifr))
}

// addAddress gives a device an address, as rtnetlink(7) has it.
func addAddress(index uint32, prefix netip.Prefix) error {
	sock, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(sock) }()
	if err := unix.Sendto(sock, addressMessage(index, prefix), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(sock, reply, 0)
	if err != nil {
		return os.NewSyscallError("recvfrom", err)
	}
	// A struct nlmsgerr follows the header: the negative error, or 0.
	if n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return errors.New("unexpected reply of rtnetlink")
	}
	if errno := -int32(binary.NativeEndian.Uint32(reply[unix.NLMSG_HDRLEN:])); errno != 0 {
		return os.NewSyscallError("RTM_NEWADDR", unix.Errno(errno))
	}
	return nil
}

// addressMessage returns the request: struct nlmsghdr, struct ifaddrmsg, and the
// attributes IFA_LOCAL and IFA_ADDRESS.
func addressMessage(index uint32, prefix netip.Prefix) []byte {
	family, flags := uint8(unix.AF_INET), uint8(0)
	if prefix.Addr().Is6() {
		// Usable at once: there is nobody else on the link who could have the address.
		family, flags = unix.AF_INET6, unix.IFA_F_NODAD
	}
	order, address := binary.NativeEndian, prefix.Addr().AsSlice()
	m := make([]byte, 4, 128) // the length comes last
	m = order.AppendUint16(m, unix.RTM_NEWADDR)
	m = order.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m = order.AppendUint32(m, 1) // sequence number
	m = order.AppendUint32(m, 0) // port: the kernel's
	m = append(m, family, uint8(prefix.Bits()), flags, unix.RT_SCOPE_UNIVERSE)
	m = order.AppendUint32(m, index)
	for _, attribute := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		m = order.AppendUint16(m, uint16(4+len(address)))
		m = order.AppendUint16(m, attribute)
		m = append(m, address...) // 4 or 16 octets: no padding
	}
	order.PutUint32(m, uint32(len(m)))
	return m
}
