FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/sluice
COPY requirements.lock pyproject.toml README.md ./
RUN pip install --no-cache-dir -r requirements.lock
COPY wire wire
COPY engine engine
COPY server server
RUN pip install --no-cache-dir --no-deps .
VOLUME /data /var/lib/sluice
EXPOSE 5432 7432 8432
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8432/health', timeout=3)"]
ENTRYPOINT ["sluice"]
CMD ["serve", "--listen=0.0.0.0:5432", "--console=0.0.0.0:8432", "--data=/data"]
