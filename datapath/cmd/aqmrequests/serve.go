package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aqmkit/aqmkit/datapath/observe"
	"github.com/aqmkit/aqmkit/datapath/observe/prom"
	observeslog "github.com/aqmkit/aqmkit/datapath/observe/slog"
	"github.com/aqmkit/aqmkit/datapath/requestqueue"
)

type serveCommand struct {
	Address string `default:"localhost:8080" help:"Where to listen (${default})."`
	Queue   string `default:"codel" placeholder:"NAME" help:"One of ${queues} (${default})."`
	serverFlags
}

// Validate is called by kong.
func (c *serveCommand) Validate() error {
	if _, err := c.algorithm(c.Queue); err != nil {
		return fmt.Errorf("--queue: %w", err)
	}
	return c.validate()
}

// Run is called by kong.
func (c *serveCommand) Run(ctx context.Context, out *output) error {
	a, err := c.algorithm(c.Queue)
	if err != nil {
		return err
	}
	observer, err := observe.New(a, observe.DefaultConfig("requests"))
	if err != nil {
		return err
	}
	queue, err := requestqueue.New(working(c.Work), requestqueue.Config{
		AQM: observer, Workers: c.Workers, Limit: c.Limit, RetryAfter: time.Second,
	})
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(prom.NewCollector(observer)); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{})) // past the queue
	mux.Handle("/", queue)

	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log := slog.New(slog.NewTextHandler(out.messages, nil))
	log.Info("listening", "url", "http://"+listener.Addr().String(), "requests_per_second", c.capacity(), "queue", c.Queue)
	logging, stop := context.WithCancel(context.WithoutCancel(ctx))
	logged := make(chan error, 1)
	go func() { logged <- observeslog.Run(logging, log, 10*time.Second, observer) }()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		err = errors.Join(server.Shutdown(patience), <-served)
		cancel()
	}
	stop()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-logged)
}

// working returns a handler that takes a while for each request, and stands for one
// that waits for a database.
func working(d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			fmt.Fprintln(w, "done")
		case <-r.Context().Done():
		}
	})
}
