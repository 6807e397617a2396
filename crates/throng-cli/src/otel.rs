//! The spans of a run for OpenTelemetry (OTLP over HTTP), in builds with the feature `otel`.
//!
//! Nothing is sent unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the other `OTEL_*` variables mean what the standard says.
//! Only spans and events of Throng itself are sent, and these hold no value of the data. A collector that can't be reached
//! never fails a run.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{OTEL_EXPORTER_OTLP_ENDPOINT, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::outcome::tell;

/// How long the last spans may take on their way when a command is over.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// The targets of our own crates begin with it.
const OURS: &str = "throng";

/// Where spans go.
pub(crate) struct Spans(Option<SdkTracerProvider>);

impl Spans {
    /// Spans go to the collector that the environment names, if it names one.
    pub(crate) fn start() -> Self {
        let is_set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
        if !is_set(OTEL_EXPORTER_OTLP_ENDPOINT) {
            return Self(None);
        }
        let exporter = match SpanExporter::builder().with_http().build() {
            Ok(exporter) => exporter,
            Err(_) => {
                tell(&format!("warning: no spans are sent: {OTEL_EXPORTER_OTLP_ENDPOINT} can't be used"));
                return Self(None);
            }
        };
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_attribute(version);
        let resource = if is_set("OTEL_SERVICE_NAME") { resource } else { resource.with_service_name("throng") };
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build());
        Self(Some(provider.build()))
    }

    /// What hears of spans.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.0.as_ref()?.tracer("throng");
        let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false);
        Some(layer.with_filter(Targets::new().with_target(OURS, LevelFilter::INFO)))
    }

    /// Sends what has not been sent yet.
    pub(crate) fn finish(self) {
        if let Some(provider) = self.0
            && provider.shutdown_with_timeout(LAST_SPANS).is_err()
        {
            tell("warning: some spans could not be sent");
        }
    }
}
