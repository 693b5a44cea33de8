// Command collector is an OpenTelemetry Collector with its own receiver of OTLP over HTTP, and an exporter that
// prints of each profiles that it gets the sums of all types of samples, as a line of JSON. It listens on a socket, and
// prints "ready" when it does; SIGTERM ends it. Its module is one of its own: only a test needs it. Usage, in its folder:
//
//	go run . SOCKET
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/clrprof/clrprof/tools/otlp/sums"
)

// config is the Collector's; %q is the socket.
const config = `yaml:
receivers: {otlp: {protocols: {http: {transport: unix, endpoint: %q}}}}
exporters: {sums: }
extensions: {ready: }
service:
  extensions: [ready]
  pipelines: {profiles: {receivers: [otlp], exporters: [sums]}}
  telemetry: {metrics: {level: none}, logs: {level: warn}}
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one socket, not %d", len(args))
	}
	if err := featuregate.GlobalRegistry().Set("service.profilesSupport", true); err != nil {
		return err
	}
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{fmt.Sprintf(config, args[0])},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		return err
	}
	return collector.Run(context.Background())
}

// factories are what the Collector can be made of.
func factories() (otelcol.Factories, error) {
	f := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	nothing := func() component.Config { return &struct{}{} }
	var err error
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	newPrinter := func(context.Context, exporter.Settings, component.Config) (xexporter.Profiles, error) {
		return &printer{}, nil
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](xexporter.NewFactory(component.MustNewType("sums"),
		nothing, xexporter.WithProfiles(newPrinter, component.StabilityLevelDevelopment)))
	if err != nil {
		return f, err
	}
	f.Extensions, err = otelcol.MakeFactoryMap(extension.NewFactory(component.MustNewType("ready"), nothing,
		func(context.Context, extension.Settings, component.Config) (extension.Extension, error) {
			return &ready{}, nil
		}, component.StabilityLevelDevelopment))
	return f, err
}

// ready says that the pipelines have started.
type ready struct {
	component.StartFunc
	component.ShutdownFunc
}

// Ready is called when all components have started.
func (*ready) Ready() error {
	_, err := fmt.Println("ready")
	return err
}

// NotReady is called when they are about to end.
func (*ready) NotReady() error { return nil }

// printer is the exporter.
type printer struct {
	component.StartFunc
	component.ShutdownFunc
}

// Capabilities says that nothing is changed.
func (*printer) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeProfiles prints the sum of each type of samples.
func (*printer) ConsumeProfiles(_ context.Context, profiles pprofile.Profiles) error {
	return json.NewEncoder(os.Stdout).Encode(sums.Of(profiles))
}
