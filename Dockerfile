# The image of a member: what it runs with and nothing of what it is tested with, as a user of its own.
#
#   docker build -t sluice . && docker run -p 127.0.0.1:5432:5432 -v sluice:/data sluice
FROM python:3.11-slim-bookworm AS build
RUN python -m venv /opt/sluice
WORKDIR /build
COPY requirements.lock ./
RUN /opt/sluice/bin/pip install --no-cache-dir -r requirements.lock
COPY pyproject.toml README.md ./
COPY wire wire
COPY engine engine
COPY server server
RUN /opt/sluice/bin/pip install --no-cache-dir --no-deps . && /opt/sluice/bin/pip uninstall --yes pip setuptools

FROM python:3.11-slim-bookworm
# procps: Spark's scripts ask ps whether a process is there.
RUN apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --home-dir /var/lib/sluice --shell /usr/sbin/nologin sluice \
    && install -d -o sluice -g sluice /data /var/lib/sluice
COPY --from=build /opt/sluice /opt/sluice
ENV PATH=/opt/sluice/bin:$PATH
USER 10001:10001
WORKDIR /var/lib/sluice
VOLUME /data /var/lib/sluice
EXPOSE 5432 7432 8432
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8432/health', timeout=3)"]
ENTRYPOINT ["sluice"]
CMD ["serve", "--listen=0.0.0.0:5432", "--console=0.0.0.0:8432", "--data=/data"]
