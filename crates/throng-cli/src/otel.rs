//! Export of a run's spans to OpenTelemetry (OTLP over HTTP), in builds with the feature `otel`.
//!
//! Nothing is sent unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the other `OTEL_*` variables have their standard
//! meaning. Only spans and events of Throng itself are sent, which hold no value of the data. An unreachable collector
//! never fails a run.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TIMEOUT, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::outcome::eprint_line;

/// Timeout of the export of the last spans at the end of a command.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// Timeout of a request if the environment sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Prefix of the targets of our own crates.
const OURS: &str = "throng";

/// Exporter of spans; `None` if the environment names no collector.
pub(crate) struct Spans(Option<SdkTracerProvider>);

impl Spans {
    /// Starts the exporter to the collector that the environment names, if any.
    pub(crate) fn start() -> Self {
        let is_set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
        if !is_set(OTEL_EXPORTER_OTLP_ENDPOINT) {
            return Self(None);
        }
        let collector = Collector::new();
        let exporter = collector.and_then(|to| SpanExporter::builder().with_http().with_http_client(to).build().ok());
        let Some(exporter) = exporter else {
            eprint_line(&format!("warning: no spans are sent: {OTEL_EXPORTER_OTLP_ENDPOINT} can't be used"));
            return Self(None);
        };
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_attribute(version);
        let resource = if is_set("OTEL_SERVICE_NAME") { resource } else { resource.with_service_name("throng") };
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build());
        Self(Some(provider.build()))
    }

    /// Returns the layer that records spans.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.0.as_ref()?.tracer("throng");
        let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false);
        Some(layer.with_filter(Targets::new().with_target(OURS, LevelFilter::INFO)))
    }

    /// Exports pending spans.
    pub(crate) fn finish(self) {
        if let Some(provider) = self.0
            && provider.shutdown_with_timeout(LAST_SPANS).is_err()
        {
            eprint_line("warning: some spans could not be sent");
        }
    }
}

/// Sends requests from the thread of the exporter, which has no async runtime.
#[derive(Debug)]
struct Collector {
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl Collector {
    fn new() -> Option<Self> {
        let timeout = std::env::var(OTEL_EXPORTER_OTLP_TIMEOUT).ok().and_then(|milliseconds| milliseconds.parse().ok());
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let client = reqwest::Client::builder().timeout(timeout).build().ok()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        Some(Self { client, runtime })
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.runtime.block_on(self.client.send_bytes(request))
    }
}
