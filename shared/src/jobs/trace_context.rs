//! A trace goes on where its work does: from a request through its jobs to the last batch, in the form of W3C's
//! `traceparent`.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The header, and the field of a job.
pub const TRACEPARENT: &str = "traceparent";

/// Where the current span stands; `None` while no traces are exported.
pub fn current() -> Option<String> {
    let context = Span::current().context();
    let span = context.span();
    let at = span.span_context();
    at.is_valid().then(|| format!("00-{}-{}-{:02x}", at.trace_id(), at.span_id(), at.trace_flags().to_u8()))
}

/// Lets a span, which was not entered yet, go on with a trace. What cannot be read begins a trace of its own.
pub fn go_on(span: &Span, traceparent: Option<&str>) {
    if let Some(parent) = traceparent.and_then(parse) {
        let context = opentelemetry::Context::new().with_remote_span_context(parent);
        // Fails only where no traces are exported.
        let _ = span.set_parent(context);
    }
}

fn parse(traceparent: &str) -> Option<SpanContext> {
    let parts: Vec<&str> = traceparent.trim().split('-').collect();
    let [version, trace, span, flags, ..] = parts[..] else { return None };
    let hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    if !hex(version, 2) || version == "ff" || !hex(trace, 32) || !hex(span, 16) || !hex(flags, 2) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_the_standard_writes_it() {
        let context = parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").expect("a context");
        assert_eq!(context.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.span_id().to_string(), "00f067aa0ba902b7");
        assert!(context.is_sampled() && context.is_remote());
    }

    #[test]
    fn what_is_no_traceparent_is_left_alone() {
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-xyz92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn without_traces_there_is_nothing_to_go_on_with() {
        assert_eq!(current(), None);
        go_on(&tracing::info_span!("nothing"), Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    }
}
