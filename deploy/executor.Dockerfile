# The image of Spark's executors on Kubernetes: the members' image, because tasks need its Python and packages under the same path, with
# the programs by which Spark's image of the same release starts executors.
#
#   docker build -f deploy/executor.Dockerfile --build-arg SPARK=apache/spark:4.1.4 --build-arg SLUICE=sluice -t sluice-executor .
ARG SPARK
ARG SLUICE
FROM ${SPARK} AS spark
FROM ${SLUICE}
USER root
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
COPY --from=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/entrypoint.sh
ENV SPARK_HOME=/opt/spark PYSPARK_PYTHON=/opt/sluice/bin/python
USER 10001:10001
WORKDIR /opt/spark/work-dir
HEALTHCHECK NONE
ENTRYPOINT ["/opt/entrypoint.sh"]
