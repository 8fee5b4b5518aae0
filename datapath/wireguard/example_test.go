package wireguard_test

import (
	"fmt"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/tuntest"

	"github.com/aqmkit/aqmkit/aqm"
	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/wireguard"
)

// A tunnel over an uplink of 20 Mb/s, a little of which is left free, so that the queue
// is here.
func Example() {
	const rate = 19_000_000
	c, err := codel.Design(rate, 100*time.Millisecond, 1500)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := codel.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	tunDevice := tuntest.NewChannelTUN().TUN() // any tun.Device, such as that of tun.CreateTUN
	tunnel, err := wireguard.Wrap(tunDevice, wireguard.Config{
		Rate:         rate,
		Overhead:     wireguard.OverheadIPv4,
		LimitPackets: 1000,
		AQMs:         []aqm.AQM{a},
		Batch:        wireguard.DefaultBatch,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	dev := device.NewDevice(tunnel, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, ""))
	defer dev.Close() // which also closes the tunnel and the TUN device

	name, err := tunnel.Name()
	fmt.Println(name, err)
	// Output: loopbackTun1 <nil>
}

// The uplink has become slower: so does the tunnel. Packets that are queued stay.
func ExampleDevice_SetRate() {
	a, err := codel.New(codel.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	tunnel, err := wireguard.Wrap(tuntest.NewChannelTUN().TUN(), wireguard.Config{
		Rate:         19_000_000,
		Overhead:     wireguard.OverheadIPv4,
		LimitPackets: 1000,
		AQMs:         []aqm.AQM{a},
		Batch:        wireguard.DefaultBatch,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := tunnel.Close(); err != nil {
			fmt.Println(err)
		}
	}()
	c, err := codel.Design(900_000, 100*time.Millisecond, 1500)
	if err != nil {
		fmt.Println(err)
		return
	}
	tunnel.SetRate(900_000)
	tunnel.Do(func() { err = a.Reconfigure(c) })
	fmt.Println(c.Target, err)
	// Output: 13.333334ms <nil>
}
