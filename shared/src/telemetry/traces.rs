//! Traces: spans are sent to a collector with OTLP over HTTP, in the background.
//!
//! If the collector is away, only spans are lost. The log does not depend on traces.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::TelemetryError;

/// How long a process waits for its last spans to be taken when it ends.
const GOODBYE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Begins to send spans of `service` to the collector at `endpoint`.
    pub(super) fn start(endpoint: &str, service: &'static str) -> Result<Self, TelemetryError> {
        let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(url)
            .build()
            .map_err(|error| TelemetryError::Traces { endpoint: endpoint.to_owned(), reason: error.to_string() })?;
        // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are read by the builder, and win.
        let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
            Some(_) => Resource::builder().build(),
            None => Resource::builder().with_service_name(service).build(),
        };
        Ok(Self(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
    }

    /// The layer that gets every span of ours from level INFO on, independent of VITRINA_LOG.
    pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync>(
        &self,
    ) -> Box<dyn Layer<S> + Send + Sync> {
        let ours =
            |metadata: &Metadata<'_>| *metadata.level() <= Level::INFO && metadata.target().starts_with("vitrina");
        let layer = tracing_opentelemetry::layer().with_tracer(self.0.tracer("vitrina"));
        let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
        layer.with_filter(filter_fn(ours)).boxed()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(GOODBYE) {
            tracing::warn!(error = %error, "the last spans were not taken");
        }
    }
}
