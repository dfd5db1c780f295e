# syntax=docker/dockerfile:1.7
# One image for every service: its only program is `vitrina`, the command says which part of it runs.

FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /src
# Queries were checked against the committed .sqlx: no database is needed to build.
ENV SQLX_OFFLINE=true CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=debuginfo

# Dependencies are compiled in a layer of their own, which stays while the manifests do: our crates are empty here.
COPY Cargo.toml Cargo.lock ./
COPY api/Cargo.toml api/
COPY bench/Cargo.toml bench/
COPY cli/Cargo.toml cli/
COPY shared/Cargo.toml shared/
COPY worker/Cargo.toml worker/
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    mkdir api/src bench/src cli/src shared/src worker/src \
    && touch api/src/lib.rs bench/src/lib.rs cli/src/lib.rs shared/src/lib.rs worker/src/lib.rs \
    && cargo build --release --locked --package vitrina

# cargo compares times, and ours are older than the empty crates: touched, they are compiled.
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    touch api/src/lib.rs cli/src/lib.rs shared/src/lib.rs worker/src/lib.rs \
    && cargo build --release --locked --package vitrina

FROM debian:12.12-slim
LABEL org.opencontainers.image.title="Vitrina" \
      org.opencontainers.image.description="Keeps analytic marts fresh: PostgreSQL in, PostgreSQL and Elasticsearch out" \
      org.opencontainers.image.licenses="Apache-2.0"
# The authorities that a database or an Elasticsearch behind TLS is trusted by.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/target/release/vitrina /usr/local/bin/
# By number, so that Kubernetes can see that it is not root. It owns nothing here and needs to write nothing.
USER 10001:10001
# 8080: the API. 9091: a worker's /metrics.
EXPOSE 8080 9091
ENTRYPOINT ["vitrina"]
CMD ["--help"]
