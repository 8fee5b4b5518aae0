package main

// linuxCommands are those that need Linux.
type linuxCommands struct {
	Up     upCommand     `cmd:"" help:"Make a link between two namespaces, with an algorithm in each direction, until SIGINT or SIGTERM. Needs root."`
	Watch  watchCommand  `cmd:"" help:"Watch the queues, delays, marks and drops of a link that is up."`
	Set    setCommand    `cmd:"" help:"Change rate, delay, loss or algorithm of a link that is up, without losing a packet."`
	Matrix matrixCommand `cmd:"" help:"Run a sample of rates, round-trip times, congestion controls and flows through every algorithm, beside a model of TCP. Needs root."`
	Policy policyCommand `cmd:"" help:"Let the ACKs of one direction share the queue of the other direction's data, and see what protecting them changes. Needs root."`
	Soak   soakCommand   `cmd:"" help:"Send TCP of the kernel through a link for long, change everything while it runs, and see that no packet and no memory is lost. Needs root."`

	Throughput throughputCommand `cmd:"" help:"What a packet costs through a link, with every algorithm and without. Needs root."`
	Blast      blastCommand      `cmd:"" hidden:""`
}

// runAsCommand is the variable in whose presence a test binary is the command.
const runAsCommand = "AQMLINK_RUN"
