# A static binary on a base without a shell. Built for the platform that builds, compiled for the one that is asked for:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) .
ARG GO_VERSION=1.26
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY certs certs
COPY cmd cmd
COPY policy policy
COPY webhook webhook
COPY Makefile .
ARG VERSION
ARG COMMIT
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=${TARGETOS} GOARCH=${TARGETARCH} make build STEPGATE=/stepgate VERSION=${VERSION} COMMIT=${COMMIT}

FROM gcr.io/distroless/static-debian12:nonroot
LABEL org.opencontainers.image.source="https://github.com/stepgate/stepgate" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /stepgate /stepgate
USER 65532:65532
ENTRYPOINT ["/stepgate"]
