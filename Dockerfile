FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/sluice
COPY requirements.lock pyproject.toml README.md ./
RUN pip install --no-cache-dir -r requirements.lock
COPY wire wire
COPY engine engine
COPY server server
RUN pip install --no-cache-dir --no-deps .
VOLUME /data
EXPOSE 5432 7432 8432
ENTRYPOINT ["sluice"]
CMD ["serve", "--listen=0.0.0.0:5432", "--mesh=0.0.0.0:7432", "--console=0.0.0.0:8432", "--data=/data"]
