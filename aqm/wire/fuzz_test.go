package wire

import _ "github.com/gopacket/gopacket/layers"
