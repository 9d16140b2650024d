"""A member's configuration: a file (TOML or YAML), then SLUICE_* environment variables, then command-line flags.

Later sources override earlier ones, key by key. Every key has a default, so a member runs without a configuration. An
error names the key, its source and, for a file, the line.

    listen = "127.0.0.1:5432"
    data = "/srv/lake"
    [spark]
    master = "spark://host:7077"
    conf = { "spark.executor.memory" = "4g" }
    [settings]
    TimeZone = "Europe/Paris"

As environment variables: SLUICE_LISTEN, SLUICE_SPARK__MASTER (two underscores separate the levels).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.catalog.store.store import URL_SCHEMES
from engine.common.wildcards import WILDCARDS
from engine.exchange.mesh_tls import MeshTls, MeshTlsError, TlsFiles
from engine.executors.engine_config import LOCAL_LIMIT_MEMORIES, PRIVATE, EngineConfig
from engine.executors.engine_config import SparkConfig as EngineSparkConfig
from engine.lakes.iceberg import Catalog
from engine.lakes.stores import Store
from engine.plan_ir.topology import Topology
from engine.settings.numbers import memory_bytes
from engine.settings.session_settings import SETTINGS
from server.auth import hba
from server.auth.client_tls import ClientTls, ClientTlsError, ClientTlsFiles, MinimumVersion
from server.auth.gate import Access
from server.auth.login_attempts import FailureLimits
from server.config import cluster_secret
from server.config.address import Address, is_loopback
from server.config.errors import AccessError, ConfigurationError
from server.config.key_types import HostPort, Master, Memory, Processes
from server.config.sources import Said
from wire.errors import SqlError

_LOOPBACK: Final[list[IPv4Network | IPv6Network]] = [IPv4Network("127.0.0.0/8"), IPv6Network("::1/128")]


def _secret_in(file: Path) -> bytes:
    try:
        return cluster_secret.first_line(file)
    except cluster_secret.UnusableSecret as error:
        raise ValueError(f"secret_file: {error}") from None


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class SparkSection(_Section):
    """The Spark cluster that this member drives."""

    master: Master = Field("local[*]", description="local[N], spark://host:port, yarn, k8s://...")
    driver_memory: Memory = Field("1g", description="heap size of the driver's JVM")
    start: Literal["eager", "lazy"] = Field(
        "eager", description="eager: Spark starts with the member; lazy: with the first query that needs it"
    )
    member: str | None = Field(
        None,
        description="the member whose Spark this one uses while that member is up; otherwise its own Spark",
    )
    share: bool = Field(
        True,
        description="members of a cluster with the same external master use one application; false: each its own",
    )
    wait_timeout: int = Field(
        120, ge=1, le=86_400, description="seconds that a statement waits for Spark to start, and for lost executors"
    )
    conf: dict[str, str] = Field(default_factory=dict, description="further spark.* settings")

    @model_validator(mode="after")
    def _names(self) -> SparkSection:
        for name in self.conf:
            if not name.startswith("spark."):
                raise ValueError(f'conf: "{name}" does not begin with "spark."')
        return self


class LocalSection(_Section):
    """The in-process engine."""

    threads: int = Field(2, ge=1, le=1024)
    memory: Memory = Field("2GB", description="DuckDB's memory limit")


class TracingSection(_Section):
    """Spans of statements, for OpenTelemetry."""

    endpoint: str = Field(
        "",
        pattern="^(https?://.*)?$",
        description="URL to which spans are sent over OTLP's HTTP; empty: tracing is off",
    )
    service: str = Field("sluice", min_length=1, description="service.name of the spans")
    sample: float = Field(1.0, ge=0, le=1, description="the fraction of the traces that begin here that is recorded")


class TablesSection(_Section):
    """Stored tables."""

    compact_after: int = Field(
        64,
        ge=0,
        le=100_000,
        description="number of small files at which a table is compacted in the background; 0: never",
    )
    small_file_mb: int = Field(16, ge=1, le=128, description="files below this number of MB are small")


class StoreSection(_Section):
    """An object store (S3) that foreign tables may be in."""

    buckets: list[str] = Field(
        min_length=1, description="the buckets that foreign tables may be in; no others may be used"
    )
    endpoint: str | None = Field(None, pattern="^https?://", description="URL of its S3; Amazon's if not given")
    region: str | None = None
    key: str | None = Field(None, description="access key; the one of the process's environment if not given")
    secret: str | None = Field(None, repr=False, description="the secret of the access key")
    secret_file: Path | None = Field(None, description="a file whose first line is the secret")

    @model_validator(mode="after")
    def _fits(self) -> StoreSection:
        if self.secret and self.secret_file:
            raise ValueError("secret_file: secret is given too; expected one of them")
        if (self.key is None) != (self.known_secret() is None):
            raise ValueError("key: expected both key and secret (or secret_file), or neither")
        return self

    def known_secret(self) -> str | None:
        """Return the store's secret, if it is given. Raises ValueError if its file cannot be read."""
        return self.secret if self.secret_file is None else _secret_in(self.secret_file).decode()


class CatalogSection(_Section):
    """A catalog of Iceberg tables, in pyiceberg's terms."""

    type: Literal["sql", "rest", "hive", "glue", "dynamodb"]
    uri: str | None = Field(None, repr=False, description="its URI, which may contain a password")
    warehouse: str | None = None
    properties: dict[str, str] = Field(default_factory=dict, repr=False, description="further pyiceberg properties")

    def pyiceberg_properties(self) -> dict[str, str]:
        """Return pyiceberg's properties."""
        given = {"type": self.type, "uri": self.uri, "warehouse": self.warehouse}
        return {**self.properties, **{name: value for name, value in given.items() if value is not None}}


class ClientTlsSection(_Section):
    """TLS for clients."""

    certificate: Path = Field(
        description="PEM: the certificate that clients are shown, followed by the authorities up to theirs"
    )
    key: Path = Field(description="PEM: the certificate's key, without a passphrase")
    client_ca: Path | None = Field(
        None,
        description="PEM: the authority that signs clients' certificates; if not given, clients are asked for none",
    )
    min_version: MinimumVersion = Field("1.2", description="the oldest TLS version accepted from clients: 1.2 or 1.3")

    def files(self) -> ClientTlsFiles:
        authority = str(self.client_ca.absolute()) if self.client_ca is not None else None
        return ClientTlsFiles(str(self.certificate.absolute()), str(self.key.absolute()), authority, self.min_version)


class HttpSection(_Section):
    """Trino's client protocol over HTTP."""

    listen: HostPort | None = Field(None, description="address at which Trino's clients connect; none if not given")
    rows_max: int = Field(1_000_000, ge=0, description="maximum number of rows of one result; 0: unlimited")
    abandoned_after: float = Field(
        300.0, ge=1, le=86_400, description="seconds without a request after which a client counts as disconnected"
    )


class TlsSection(_Section):
    """TLS between members. The section requires all three files."""

    certificate: Path = Field(
        description="PEM: this member's certificate, with DNS:<member> among its subject alternative names"
    )
    key: Path = Field(description="PEM: the certificate's key, without a passphrase")
    authority: Path = Field(
        description="PEM: the authority that signs the certificates of the cluster's members, and no others"
    )

    def files(self) -> TlsFiles:
        paths = (self.certificate, self.key, self.authority)
        return TlsFiles(*(str(path.absolute()) for path in paths))


class ClusterSection(_Section):
    """The other members, and what this one announces to them."""

    name: str = Field(
        "sluice", pattern=r"^[^\x00-\x1f\x7f]{1,63}$", description="the cluster's name, the same for all its members"
    )
    seeds: list[HostPort] = Field(default_factory=list, description="mesh addresses of members to join")
    secret: str = Field(
        "", repr=False, description="the secret that all members share and prove to each other; generated if not given"
    )
    secret_file: Path | None = Field(None, description="a file whose first line is the secret")
    role: Literal["data", "lite"] = Field(
        "data", description="data: initiates and runs queries over tables; lite: only accepts clients"
    )
    advertise: HostPort | None = Field(
        None, description="host:port at which the other members reach this member's mesh port; `mesh` if not given"
    )
    advertise_client: HostPort | None = Field(
        None, description="host:port at which clients reach this member, published to the other members"
    )
    topology: Path | None = Field(
        None, description="a topology file (YAML): the files that each member holds, and the links between members"
    )
    tls: TlsSection | None = Field(None, description="TLS between members; they communicate in the clear if not given")
    heartbeat: float = Field(1.0, ge=0.01, le=3600, description="seconds between heartbeats")
    failure_after: float = Field(
        5.0, gt=0, le=86_400, description="seconds without a byte after which a member is lost"
    )
    forget_after: float = Field(
        60.0, gt=0, description="seconds after which a member that is lost or has left is no longer shown"
    )
    drain_seconds: float = Field(
        10.0, ge=0, le=86_400, description="seconds for which running work may continue at shutdown"
    )

    @model_validator(mode="after")
    def _fits(self) -> ClusterSection:
        if self.failure_after < 2 * self.heartbeat:
            raise ValueError("failure_after: expected twice the heartbeat at least, or every delay is a failure")
        if self.secret and self.secret_file:
            raise ValueError("secret_file: secret is given too; expected one of them")
        if self.secret_file and not self.secret_bytes():
            raise ValueError(f"secret_file: {self.secret_file} has no secret in its first line")
        return self

    def secret_bytes(self) -> bytes:
        """Return the secret. Raises ValueError if its file cannot be read."""
        return self.secret.encode() if self.secret_file is None else _secret_in(self.secret_file)


class Config(_Section):
    """A member's configuration; see the module's docstring."""

    listen: HostPort = Field("127.0.0.1:5432", description="address at which PostgreSQL clients connect")
    mesh: HostPort = Field(
        "127.0.0.1:7432", description="address at which members and Spark's tasks connect; opened only in a cluster"
    )
    console: HostPort = Field("127.0.0.1:8432", description="address of the web console")
    console_tls: bool = Field(False, description="serve the console over https, with the certificate of `tls`")
    console_hosts: list[str] = Field(
        default_factory=list,
        description="host names by which browsers may address the console, besides this machine's own",
    )
    http: HttpSection = HttpSection()
    data: Path = Field(Path("sluice-data"), description="data directory: catalog, spool, relative paths of tables")
    base: Path | None = Field(
        None, description="folder where relative paths of tables begin; the data directory if not given"
    )
    catalog: str | None = Field(
        None,
        description="the catalog database: a SQLite file or a postgresql:// URL; a SQLite file in `data` if not given",
    )
    allow_empty_catalog: bool = Field(
        False, description="start even if the catalog is empty and the folder of stored tables contains rows"
    )
    roots: list[Path] = Field(
        default_factory=list, description="folders that foreign tables must be in; empty: any folder"
    )
    copy_roots: list[Path] = Field(
        default_factory=list, description="folders that files of COPY must be in; empty: `files` below `base` or `data`"
    )
    trust: list[IPv4Network | IPv6Network] = Field(
        _LOOPBACK,
        description="without hba_file: networks whose clients need no password; clients from elsewhere need one",
    )
    hba_file: Path | None = Field(None, description="file of client authentication rules, as in pg_hba.conf")
    auth_delay: float = Field(0.5, ge=0, le=3600, description="seconds before a failed login is answered")
    auth_failures_address_max: int = Field(
        30, ge=0, le=100_000, description="failed logins allowed from one address within a minute; 0: unlimited"
    )
    auth_failures_role_max: int = Field(
        100, ge=0, le=100_000, description="failed logins allowed as one role within a minute; 0: unlimited"
    )
    tls: ClientTlsSection | None = Field(None, description="TLS for clients; without it, only unencrypted connections")
    member: str = Field("m1", pattern=r"^[A-Za-z0-9_.-]{1,63}$", description="this member's name")
    processes: Processes = Field(
        1,
        description="number of processes that accept clients at this address, each of them a member; auto: one per core",
    )
    max_connections: int = Field(500, ge=1, le=100_000)
    superuser_reserved_connections: int = Field(
        3, ge=0, description="the number of max_connections that only superusers get"
    )
    client_input_mb: int = Field(
        512,
        ge=1,
        le=1 << 20,
        description="MB of unprocessed input of all clients, beyond which long incomplete messages are refused",
    )
    client_output_mb: int = Field(
        64,
        ge=1,
        le=1 << 20,
        description="MB of encoded rows that may be held for all clients; pages become smaller as it fills",
    )
    authentication_timeout: float = Field(60.0, gt=0, description="seconds within which a client must log in")
    fragment_threads: int = Field(4, ge=1, le=1024)
    operation_threads: int = Field(2, ge=1, le=1024)
    memory: Memory = Field(
        "4GB", description="memory limit of the process: above it, long statements fail while they are planned"
    )
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$")
    spark: SparkSection = SparkSection()
    local: LocalSection = LocalSection()
    tables: TablesSection = TablesSection()
    tracing: TracingSection = TracingSection()
    cluster: ClusterSection = ClusterSection()
    catalogs: dict[str, CatalogSection] = Field(
        default_factory=dict, description="catalogs of Iceberg tables, under names that you choose"
    )
    stores: dict[str, StoreSection] = Field(
        default_factory=dict, description="object stores, under names that you choose"
    )
    settings: dict[str, str] = Field(default_factory=dict, description="defaults of session settings")

    @model_validator(mode="after")
    def _session_settings(self) -> Config:
        for name, value in self.settings.items():
            row = SETTINGS.get(name.lower())
            if row is None:
                raise ValueError(f'settings: unrecognized configuration parameter "{name}"')
            try:
                row.read(value)
            except SqlError as error:
                raise ValueError(f"settings: {error.message}") from None
        return self

    @model_validator(mode="after")
    def _room_for_all(self) -> Config:
        if self.superuser_reserved_connections >= self.max_connections:
            reserved, most = self.superuser_reserved_connections, self.max_connections
            raise ValueError(
                f"superuser_reserved_connections: expected fewer than max_connections ({most}), not {reserved}"
            )
        return self

    @model_validator(mode="after")
    def _one_store_a_bucket(self) -> Config:
        owners: dict[str, str] = {}
        for name, store in self.stores.items():
            for bucket in store.buckets:
                if owners.setdefault(bucket, name) != name:
                    raise ValueError(f'stores: bucket "{bucket}" is in two stores, {owners[bucket]} and {name}')
        return self

    @property
    def in_cluster(self) -> bool:
        """Whether there are or may be other members, so that this one listens for them. A member is alone if its
        configuration says nothing of others: neither their addresses, nor a secret, nor the address at which they find
        it (`mesh`).
        """
        cluster = self.cluster
        told = (
            cluster.seeds
            or cluster.secret
            or cluster.secret_file
            or cluster.advertise
            or cluster.topology
            or cluster.tls
        )
        return bool(told) or cluster.role == "lite" or "mesh" in self.model_fields_set

    @property
    def made_secret(self) -> Path:
        """The file that stores the cluster's secret when the configuration gives none."""
        return self.data / PRIVATE / cluster_secret.NAME

    def mesh_secret(self) -> bytes:
        """Return the secret by which members authenticate each other: the configured one, else the one that this
        member has generated or generates now. Blocks on the disk. Raises ValueError for a file that cannot be used.
        """
        return self.cluster.secret_bytes() or cluster_secret.read_or_make(self.made_secret)

    @model_validator(mode="after")
    def _cluster_secret(self) -> Config:
        """Require the cluster's secret of a member that joins others, even on the same machine."""
        if self.cluster.seeds and not self.knows_secret:
            raise ValueError(f"cluster.secret: {_unknown_secret(self.cluster.seeds[0])}")
        return self

    @property
    def knows_secret(self) -> bool:
        """Whether a secret is configured, or has been generated in this data directory."""
        return bool(self.cluster.secret_bytes()) or self.made_secret.exists()

    @model_validator(mode="after")
    def _require_one_name(self) -> Config:
        """Refuse settings that name a single member if several processes run: each is a member with a name of its own."""
        if self.processes != 1 and self.cluster.topology is not None:
            raise ValueError("processes: expected 1 with cluster.topology, which names each member")
        if self.processes != 1 and self.cluster.tls is not None:
            raise ValueError("processes: expected 1 with cluster.tls, whose certificate has the name of one member")
        return self

    @model_validator(mode="after")
    def _cluster_address(self) -> Config:
        """Require an address at which members on other machines can reach this one, for control connections and for
        data.
        """
        far = next((seed for seed in self.cluster.seeds if not is_loopback(Address.parse(seed).host)), None)
        told = self.cluster.advertise or self.mesh
        if far is not None and is_loopback(Address.parse(told).host):
            raise ValueError(
                f"cluster.advertise: expected an address that {far} can reach; {told} is this machine's loopback interface"
            )
        return self

    @model_validator(mode="after")
    def _cluster_tls(self) -> Config:
        try:
            self.mesh_tls()
        except MeshTlsError as error:
            raise ValueError(f"cluster.tls.{error}") from None
        return self

    @model_validator(mode="after")
    def _access(self) -> Config:
        if self.console_tls and self.tls is None:
            raise ValueError("console_tls: there is no certificate; expected the section tls")
        if self.hba_file is not None and "trust" in self.model_fields_set:
            raise ValueError("trust: hba_file is given too, which says whom to trust; expected one of them")
        try:
            self.access()
        except AccessError as error:
            raise ValueError(str(error)) from None
        return self

    def access(self) -> Access:
        """Read the rules of authentication. Blocks on the file system; raises AccessError."""
        try:
            tls = ClientTls.read(self.tls.files()) if self.tls is not None else None
            rules = hba.read(self.hba_file) if self.hba_file is not None else None
        except ClientTlsError as error:
            raise AccessError(f"tls.{error}") from None
        except hba.HbaError as error:
            raise AccessError(f"hba_file: {error}") from None
        failures = FailureLimits(self.auth_failures_address_max, self.auth_failures_role_max)
        return Access(rules, hba.default_rules(self.trust), tls, self.auth_delay, failures)

    def mesh_tls(self) -> MeshTls | None:
        """Read the certificates for connections between members. Blocks on the file system; raises MeshTlsError."""
        return MeshTls(self.cluster.tls.files(), self.member) if self.cluster.tls is not None else None

    @property
    def spark_allocation(self) -> Literal["alone", "shared", "own"]:
        """How this member uses its Spark master beside other members (`SparkConfig`)."""
        spark = self.spark
        if not self.in_cluster or spark.master.startswith("local") or spark.member is not None:
            return "alone"
        return "shared" if spark.share and self.cluster.topology is None else "own"

    def topology(self) -> Topology | None:
        """Read the topology file, if there is one. Blocks on the file system; raises ConfigurationError."""
        # Few members have a topology, and its reader is slow to import.
        from server.config.topology import load_topology

        return load_topology(self.cluster.topology) if self.cluster.topology else None

    def engine(self) -> EngineConfig:
        """Return the engine's configuration. Raises the errors of `topology`."""
        return EngineConfig(
            data=self.data.absolute(),
            base=self.base.absolute() if self.base else None,
            catalog=_catalog(self.catalog),
            allow_empty_catalog=self.allow_empty_catalog,
            member=self.member,
            role=self.cluster.role,
            roots=tuple(root.absolute() for root in self.roots),
            copy_roots=tuple(root.absolute() for root in self.copy_roots),
            fragment_threads=self.fragment_threads,
            operation_threads=self.operation_threads,
            local_threads=self.local.threads,
            local_memory=self.local.memory,
            memory_bytes=memory_bytes(self.memory),
            spark=EngineSparkConfig(
                self.spark.master,
                self.spark.driver_memory,
                self.spark.conf,
                self.spark.start,
                self.spark.member,
                self.spark_allocation,
                self.spark.wait_timeout,
            ),
            compact_after=self.tables.compact_after,
            small_file_bytes=self.tables.small_file_mb << 20,
            settings={
                "sluice.local_limit": f"{LOCAL_LIMIT_MEMORIES * memory_bytes(self.local.memory) >> 10}kB",
                **self.settings,
                "max_connections": str(self.max_connections),
            },
            topology=self.topology(),
            stores=tuple(
                Store(name, tuple(s.buckets), s.endpoint, s.region, s.key, s.known_secret())
                for name, s in self.stores.items()
            ),
            catalogs=tuple(Catalog(name, section.pyiceberg_properties()) for name, section in self.catalogs.items()),
        )


def _catalog(location: str | None) -> str | None:
    if location is None or location.startswith(URL_SCHEMES):
        return location
    return str(Path(location).absolute())


def load(
    path: Path | None = None, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Config:
    """Read the configuration from its three sources. `flags`: nested values, None for a flag that was not given.

    Raises ConfigurationError.
    """
    said = Said.read(path, flags, environment)
    try:
        config = Config.model_validate(said.values)
    except ValidationError as error:
        raise ConfigurationError("\n".join(said.tell(e) for e in error.errors())) from None
    if (topology := config.topology()) is not None:
        check_topology(config, topology)
    return config


def _unknown_secret(address: str) -> str:
    """Return the error message for a member that would join the one at `address` without knowing the cluster's secret.
    It says what to do.
    """
    return (
        f"expected the secret of the cluster, as members prove to {address} that they know it; give the same one to all members: "
        f"cluster.secret_file, with a file made by `openssl rand -hex 32`, or the one that the first member has made in its data "
        f"directory (.sluice/{cluster_secret.NAME})"
    )


def check_topology(config: Config, topology: Topology) -> None:
    """Check that this member matches its node in the topology. Raises ConfigurationError."""
    path = config.cluster.topology
    other = next((node for node in topology.nodes if node.name != config.member), None)
    if other is not None and not config.knows_secret:
        raise ConfigurationError(f"{path}: cluster.secret: {_unknown_secret(other.address)}")
    if config.member not in topology.members:
        return
    node = topology.node(config.member)
    if node.physical and config.cluster.role == "lite":
        raise ConfigurationError(f"{path}: node {node.name} has physical sources, but is a lite member (cluster.role)")
    told = Address.parse(config.cluster.advertise or config.mesh)
    if told.port and told.host not in WILDCARDS and told != Address.parse(node.address):
        raise ConfigurationError(
            f"{path}: node {node.name} has the address {node.address}, but tells the others {told} "
            "(cluster.advertise, else mesh)"
        )
