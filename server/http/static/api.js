// The console's HTTP API and its live channel. URLs are relative, so that a proxy may serve the console below a path.

/** An error answer: status, message, and for SQL errors sqlstate and position. */
export class ApiError extends Error {
  constructor(status, body) {
    super(body.error ?? `The server answered with status ${status}.`);
    this.status = status;
    this.sqlstate = body.sqlstate ?? null;
    this.position = body.position ?? null;
  }
}

/** The status of an `ApiError` if no answer came. */
export const UNREACHED = 0;

async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method === "POST") headers["X-Sluice-Console"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new ApiError(UNREACHED, { error: "The member does not answer." });
  }
  const text = await answer.text();
  const told = text && (answer.headers.get("Content-Type") ?? "").includes("json") ? JSON.parse(text) : {};
  if (!answer.ok) throw new ApiError(answer.status, told);
  return told;
}

export const login = (user, password) => call("POST", "api/login", { user, password });
export const logout = () => call("POST", "api/logout");
export const me = () => call("GET", "api/me");
export const overview = () => call("GET", "api/overview");
export const query = (id) => call("GET", `api/queries/${encodeURIComponent(id)}`);
export const cancel = (id) => call("POST", `api/queries/${encodeURIComponent(id)}/cancel`);
export const explain = (sql) => call("POST", "api/explain", { sql });

const FIRST_WAIT_SECONDS = 1;
const LONGEST_WAIT_SECONDS = 30;
/** A channel without a message for this time counts as lost, whatever the socket reports: an overview comes each second. */
const SILENCE_SECONDS = 15;

/** The websocket, which is reopened with growing pauses when it is lost.
 *
 *  handlers: overview(value), query(value); connection({state, seconds}), where state is "open" or "lost" and seconds the pause
 *  before the next attempt; refused(): the server requires a login. */
export class Live {
  constructor(handlers) {
    this.handlers = handlers;
    this.followed = null;
    this.socket = null;
    this.timer = null;
    this.silence = null;
    this.failures = 0;
    this.closed = true;
  }

  open() {
    this.closed = false;
    this.connect();
  }

  /** Request a statement's details too; null: stop requesting them. */
  follow(id) {
    this.followed = id;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ follow: id }));
  }

  /** Reconnect now, without the pause. */
  retry() {
    if (!this.closed && this.socket === null) this.connect();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.abandon()?.close();
  }

  connect() {
    clearTimeout(this.timer);
    const address = new URL("api/live", document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.socket = socket;
    this.listen();
    socket.onopen = () => socket.send(JSON.stringify({ follow: this.followed }));
    socket.onmessage = (event) => this.receive(JSON.parse(event.data));
    socket.onclose = () => this.lost();
  }

  receive(message) {
    this.listen();
    this.failures = 0;
    this.handlers.connection({ state: "open", seconds: 0 });
    if (message.overview) this.handlers.overview(message.overview);
    if (message.query) this.handlers.query(message.query);
  }

  listen() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.abandon()?.close();
      this.lost();
    }, SILENCE_SECONDS * 1000);
  }

  abandon() {
    const socket = this.socket;
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    this.socket = null;
    return socket;
  }

  async lost() {
    this.abandon();
    clearTimeout(this.silence);
    if (this.closed) return;
    const seconds = Math.min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** this.failures);
    this.failures += 1;
    this.handlers.connection({ state: "lost", seconds });
    this.timer = setTimeout(() => this.connect(), seconds * 1000);
    // A handshake that is refused because a login is required looks like any other loss.
    try {
      await me();
    } catch (error) {
      if (error.status === 401 && !this.closed) this.handlers.refused();
    }
  }
}
