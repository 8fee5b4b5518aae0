package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/aqmkit/aqmkit/datapath/internal/netns"
	"github.com/aqmkit/aqmkit/datapath/tunlink"
)

// The addresses do not matter: nobody else is in these namespaces.
var (
	nearAddress = netip.MustParsePrefix("10.0.0.1/30")
	farAddress  = netip.MustParsePrefix("10.0.0.2/30")
)

// bed is a link that runs between two namespaces, all of which are made for it.
type bed struct {
	claim *claim
	ends  [2]*netns.Namespace
	link  *tunlink.Link
	ran   chan error
}

// openBed makes a link that nobody else sees: no run sees another's counters or cached
// metrics.
func openBed(d [2]tunlink.Direction, ecn bool) (b *bed, err error) {
	name := fmt.Sprintf("%d-%s", os.Getpid(), strings.ToLower(rand.Text()[:6]))
	b = &bed{ran: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	names := []string{namespaceName(name, "near"), namespaceName(name, "far")}
	if b.claim, err = takeClaim(name, func(string, ...any) {}, names...); err != nil {
		return b, err
	}
	for i := range b.ends {
		if b.ends[i], err = netns.Create(names[i]); err != nil {
			return b, err
		}
		if err = b.ends[i].Do(func() error { return sysctls(ecn) }); err != nil {
			return b, err
		}
	}
	link, err := tunlink.Open(tunlink.Config{
		A:    d[0],
		B:    d[1],
		EndA: tunlink.End{Namespace: names[0], Address: nearAddress},
		EndB: tunlink.End{Namespace: names[1], Address: farAddress},
		MTU:  tunlink.DefaultMTU,
	})
	if err != nil {
		return b, err
	}
	b.link = link
	go func() { b.ran <- link.Run(context.Background()) }() // until Close
	return b, nil
}

// close removes all that was made.
func (b *bed) close() error {
	var errs []error
	if b.link != nil {
		errs = append(errs, b.link.Close(), <-b.ran)
	}
	for _, ns := range b.ends {
		if ns != nil {
			errs = append(errs, ns.Close())
		}
	}
	if b.claim != nil {
		errs = append(errs, b.claim.release())
	}
	return errors.Join(errs...)
}
