# Two images, each with a static binary and nothing else: the webhook's, and with --target reporter the reporter's. Built for the platform
# that builds, compiled for the one that is asked for:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) .
# Releases do not use this file: `make release-image` assembles the same images and pulls no base image. test/image compares the two.
ARG GO_VERSION=1.26
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS sources
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY certs certs
COPY cmd cmd
COPY docs docs
COPY policy policy
COPY webhook webhook
COPY Makefile .
ARG VERSION
ARG COMMIT
ARG TARGETOS
ARG TARGETARCH

FROM sources AS build-webhook
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=${TARGETOS} GOARCH=${TARGETARCH} make build-webhook WEBHOOK=/stepgate-webhook VERSION=${VERSION} COMMIT=${COMMIT}

FROM sources AS build-reporter
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=${TARGETOS} GOARCH=${TARGETARCH} make build-reporter REPORTER=/stepgate-reporter VERSION=${VERSION} COMMIT=${COMMIT}

# In both there is no shell, no /etc/passwd, no /tmp, no CA certificate and no time zone. stepgate needs none of them: it trusts the CA of
# the cluster, which the service account brings, it sends traces without TLS, it writes no file, and it has the time zones in it. The reporter
# has the certificates of the services that notifications go to in it.
FROM scratch AS reporter
LABEL org.opencontainers.image.source="https://github.com/stepgate/stepgate" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build-reporter /stepgate-reporter /stepgate-reporter
USER 65532:65532
ENTRYPOINT ["/stepgate-reporter"]

FROM scratch AS webhook
LABEL org.opencontainers.image.source="https://github.com/stepgate/stepgate" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build-webhook /stepgate-webhook /stepgate-webhook
USER 65532:65532
ENTRYPOINT ["/stepgate-webhook"]
