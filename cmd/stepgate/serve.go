package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/stepgate/stepgate/certs"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/refresh"
	"github.com/stepgate/stepgate/webhook/server"
	"github.com/stepgate/stepgate/webhook/siblings"
)

func newServe() *cobra.Command {
	o := &options{}
	zapOptions := &zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the admission webhook",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := o.config()
			if err == nil {
				err = o.validate()
			}
			if err != nil {
				return err
			}
			log := zap.New(zap.UseFlagOptions(zapOptions))
			ctrllog.SetLogger(log)
			klog.SetLogger(log)
			return serve(logr.NewContext(cmd.Context(), log), o, config)
		},
	}
	cmd.Flags().SortFlags = false
	o.bind(cmd.Flags())
	zapFlags := flag.NewFlagSet("zap", flag.ContinueOnError)
	zapOptions.BindFlags(zapFlags)
	zapFlags.Lookup("zap-time-encoding").Usage = "Zap time encoding (one of 'epoch', 'millis', 'nano', 'iso8601', 'rfc3339' or 'rfc3339nano'). Defaults to 'rfc3339nano'."
	cmd.Flags().AddGoFlagSet(zapFlags)
	return cmd
}

// serve runs the webhook and what it needs until ctx is done or a part fails.
func serve(ctx context.Context, o *options, config webhook.Config) error {
	log := logr.FromContextOrDiscard(ctx)
	restConfig, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return fmt.Errorf("API server client: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	source, err := o.certificates(restConfig, registry)
	if err != nil {
		return err
	}
	metrics := webhook.NewMetrics(registry)
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("host name for Events: %w", err)
	}
	events := webhook.NewEvents(eventCreator{clientset}, metrics, log, hostname, time.Now)
	objects, err := argoObjects(restConfig)
	if err != nil {
		return err
	}
	versions, err := metadata.NewForConfig(restConfig)
	if err != nil {
		return fmt.Errorf("API server client: %w", err)
	}
	known, err := watched(restConfig, o.namespaces)
	if err != nil {
		return err
	}
	blocked := webhook.NewBlocked(known, time.Now)
	registry.MustRegister(blocked)
	recorder := webhook.NewRecorder(metrics, events, blocked)
	refreshes := refresh.NewQueue(refresh.NewAnnotation(objects), metrics, time.Now)
	gate := webhook.NewGate(config, webhook.Parts{
		Live: siblings.NewReader(siblings.NewAPIServer(objects, versions, metrics), known), Record: recorder, Watch: known, Refresh: refreshes, Now: time.Now,
	})
	server, err := server.Listen(server.Options{
		Address: o.webhookAddress, Handlers: map[string]admission.Handler{webhook.Path: gate}, Requests: metrics,
		GetCertificate: source.GetCertificate, ShutdownDelay: o.shutdownDelay, Log: log,
	})
	if err != nil {
		return err
	}
	log.Info("serving", "address", server.Addr().String(), "mode", config.Mode.String(), "require", config.Require.String(),
		"gateRollbacks", config.GateRollbacks, "refreshStaleSiblings", config.RefreshStaleSiblings, "applicationNamespaces", o.namespaces,
		"certMode", o.certMode, "validatingWebhookConfigurations", o.configurations.Validating, "mutatingWebhookConfigurations", o.configurations.Mutating)

	ready := &readiness{server: server, source: source, known: known, discovery: clientset.Discovery().RESTClient()}
	// The parts go on while the webhook drains; they end with it.
	parts, endParts := context.WithCancel(context.WithoutCancel(ctx))
	defer endParts()
	group, parts := errgroup.WithContext(parts)
	group.Go(func() error {
		defer endParts()
		until, cancel := either(ctx, parts)
		defer cancel()
		return server.Run(until)
	})
	group.Go(func() error { return ended(parts, "certificates", source.Start(parts)) })
	group.Go(func() error { recorder.Run(parts); return nil })
	group.Go(func() error { refreshes.Run(parts); return nil })
	group.Go(func() error { known.Run(parts); return ended(parts, "watch of Applications", nil) })
	group.Go(func() error { return serveHTTP(parts, o.probeAddress, ready.mux()) })
	group.Go(func() error {
		mux := http.NewServeMux()
		mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		return serveHTTP(parts, o.metricsAddress, mux)
	})
	err = group.Wait()
	log.Info("stopped")
	return err
}

// either returns a context that is done when one of the two is.
func either(a, b context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return both, func() { stop(); cancel() }
}

// ended makes the end of a part that should run for ever an error.
func ended(ctx context.Context, part string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("ended unexpectedly")
	}
	return fmt.Errorf("%s: %w", part, err)
}

func (o *options) certificates(restConfig *rest.Config, registry prometheus.Registerer) (certs.Source, error) {
	if o.certMode == "files" {
		return certs.NewFiles(certs.FilesOptions{
			Dir: o.certDir, Configurations: o.configurations, RESTConfig: restConfig, Metrics: registry,
		})
	}
	secret, err := o.secretName()
	if err != nil {
		return nil, err
	}
	return certs.NewSelf(certs.SelfOptions{
		RESTConfig: restConfig, Secret: secret, DNSNames: o.certDNSNames, IPAddresses: o.certIPAddresses,
		Configurations: o.configurations, Metrics: registry,
		LeafDuration: o.certLeafDuration, CADuration: o.certCADuration,
	})
}

// restConfig has no client-side rate limit: a decision must not wait behind others in its own process, and the API
// server protects itself by priority and fairness.
func restConfig(kubeconfig string) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	} else {
		config, err = rest.InClusterConfig()
	}
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("not running in a Pod: --kubeconfig is needed")
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	config.QPS = -1
	config.UserAgent = "stepgate"
	return config, nil
}

// serveHTTP serves plain HTTP until ctx is done; the address "0" serves nothing.
func serveHTTP(ctx context.Context, address string, handler http.Handler) error {
	if address == "0" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
