# The dumbbell for ns-2 2.35: long-lived FullTcp/Sack flows through one link.
#
#   ns ns2.tcl NAME RATE FLOWS SECONDS ECN LIMIT SEED
#
# NAME is droptail, red, ared, pi, pi-ref or rem; RATE in bit/s; LIMIT in packets. It
# prints one line: utilisation, mean queue in packets, packets that left the
# bottleneck, seconds of wall time. The first quarter is left out of the first two.

if {$argc != 7} { puts stderr "usage: ns ns2.tcl NAME RATE FLOWS SECONDS ECN LIMIT SEED"; exit 2 }
foreach {name rate flows seconds ecn limit seed} $argv break
set bdp [expr int($rate * 0.1 / 8 / 1500)]
if {$bdp < 20} { set bdp 20 }
set minth [expr 0.1 * $bdp]
if {$minth < 5} { set minth 5.0 }

# Headers that are not used cost memory and time.
remove-all-packet-headers
add-packet-header IP TCP Flags
set sim [new Simulator]
$sim use-scheduler Heap
ns-random $seed

foreach {variable value} {window_ 20000 packetSize_ 1460 windowInit_ 10 minrto_ 0.2 tcpTick_ 0.001} {
	Agent/TCP set $variable $value
}
Agent/TCP set ecn_ $ecn
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set segsperack_ 2
Agent/TCP/FullTcp set nodelay_ true

# All queues but the bottleneck are as good as endless.
Queue set limit_ 100000
foreach q {RED PI REM} { Queue/$q set mean_pktsize_ 1500 }
foreach q {RED PI} { Queue/$q set setbit_ $ecn }
Queue/REM set markpkts_ $ecn
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
switch $name {
	droptail { set queue DropTail }
	red {
		set queue RED
		Queue/RED set thresh_ $minth
		Queue/RED set maxthresh_ [expr 3 * $minth]
		Queue/RED set q_weight_ 0.002
	}
	ared {
		set queue RED
		Queue/RED set adaptive_ 1
		Queue/RED set targetdelay_ 0.010
		foreach automatic {thresh_ maxthresh_ q_weight_} { Queue/RED set $automatic 0 }
	}
	pi { set queue PI }
	pi-ref {
		set queue PI
		Queue/PI set qref_ [expr int(2 * $minth)]
	}
	rem { set queue REM }
	default { puts stderr "ns2.tcl: no queue is called $name"; exit 2 }
}

set west [$sim node]
set east [$sim node]
$sim simplex-link $west $east $rate 10ms $queue
$sim simplex-link $east $west $rate 10ms DropTail
$sim queue-limit $west $east $limit
$sim queue-limit $east $west 100000
for {set i 0} {$i < $flows} {incr i} {
	set delay 5.0
	if {$flows > 1} { set delay [expr 5 + 30.0 * $i / ($flows - 1)] }
	set from [$sim node]
	set to [$sim node]
	$sim duplex-link $from $west [expr 10 * $rate] [set delay]ms DropTail
	$sim duplex-link $east $to [expr 10 * $rate] 5ms DropTail
	set sender [new Agent/TCP/FullTcp/Sack]
	set receiver [new Agent/TCP/FullTcp/Sack]
	$sender set fid_ $i
	$receiver set fid_ $i
	$receiver listen
	$sim attach-agent $from $sender
	$sim attach-agent $to $receiver
	$sim connect $sender $receiver
	set data [new Application/FTP]
	$data attach-agent $sender
	$sim at [expr 1.0 * $i / $flows] "$data start"
}

set monitor [$sim monitor-queue $west $east ""]
set area [$monitor get-pkts-integrator]
set warm [expr $seconds / 4.0]
set measured [expr $seconds - $warm]
$sim at $warm {
	set area0 [$area set sum_]
	set left0 [$monitor set pdepartures_]
}
$sim at [expr $seconds - 1e-6] {
	set wall [expr ([clock clicks -milliseconds] - $began) / 1000.0]
	set left [$monitor set pdepartures_]
	puts [format "%.6f %.3f %.0f %.3f" \
		[expr ($left - $left0) * 1500 * 8.0 / ($measured * $rate)] \
		[expr ([$area set sum_] - $area0) / $measured] $left $wall]
	exit 0
}
set began [clock clicks -milliseconds]
$sim run
