# syntax=docker/dockerfile:1
# One image for every service: its only program is `vitrina`, the command says which part of it runs.

FROM rust:1.95-bookworm AS build
WORKDIR /src
# Queries were checked against the committed .sqlx: no database is needed to build.
ENV SQLX_OFFLINE=true

# The dependencies are fetched in a layer of their own, which stays while Cargo.lock does.
COPY Cargo.toml Cargo.lock ./
COPY api/Cargo.toml api/
COPY bench/Cargo.toml bench/
COPY cli/Cargo.toml cli/
COPY shared/Cargo.toml shared/
COPY worker/Cargo.toml worker/
RUN for crate in api bench cli shared worker; do mkdir -p "$crate/src" && touch "$crate/src/lib.rs"; done \
    && cargo fetch --locked

COPY . .
# Compiled crates are kept between builds in a cache that is not part of the image.
RUN --mount=type=cache,target=/src/target \
    cargo build --release --locked --offline --package vitrina \
    && install -D target/release/vitrina /out/vitrina

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin vitrina
COPY --from=build /out/vitrina /usr/local/bin/vitrina
USER vitrina
WORKDIR /tmp
# 8080: the API. 9091: a worker's /metrics.
EXPOSE 8080 9091
STOPSIGNAL SIGTERM
ENTRYPOINT ["vitrina"]
CMD ["--help"]
