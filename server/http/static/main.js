// The console's entry point: checks the login, shows the view that the URL names, and applies the live channel's messages.
//
// Views: #/ the overview, #/statements/ID a statement, #/explain plans. The newest message of each kind is kept until the browser
// draws the next frame, so a page in the background does no work and stores no more than that.

import * as api from "./api.js";
import { heard, serverNow } from "./clock.js";
import { setAttribute, setText } from "./dom.js";
import { ExplainView } from "./explain.js";
import * as format from "./format.js";
import { LoginView } from "./login.js";
import { OverviewView } from "./overview.js";
import { StatementView } from "./statement.js";

class Console {
  constructor() {
    this.main = document.getElementById("main");
    this.links = [...document.querySelectorAll("nav a")];
    this.user = document.getElementById("user");
    this.banner = document.getElementById("banner");
    this.bannerText = this.banner.querySelector("span");
    this.rights = document.getElementById("rights");
    this.logoutButton = document.getElementById("logout");
    this.member = "";
    this.view = null;
    this.forget();
    this.waiting = false;
    this.countdown = null;
    this.live = new api.Live({
      overview: (value) => this.receive("overview", value),
      query: (value) => this.receive("query", value),
      connection: (value) => this.tellConnection(value),
      refused: () => this.askForLogin(),
    });
    this.logoutButton.addEventListener("click", () => this.logout());
    this.banner.querySelector("button").addEventListener("click", () => this.live.retry());
    window.addEventListener("hashchange", () => this.route());
  }

  /** Begin with empty views, so that nothing of one user's views remains for the next. */
  forget() {
    this.overviewView = new OverviewView();
    this.explainView = new ExplainView();
    this.overview = null;
    this.query = null;
  }

  async start() {
    try {
      this.enter(await api.me());
    } catch (error) {
      if (error.status === 401) return this.askForLogin();
      this.tellConnection({ state: "lost", seconds: 5 });
      setTimeout(() => this.start(), 5000);
    }
  }

  enter(me) {
    this.member = me.member;
    setText(this.user, me.user);
    this.rights.hidden = me.may_read_all;
    document.body.dataset.login = "yes";
    setText(document.getElementById("version"), `Sluice ${me.version}, member ${me.member}`);
    this.live.open();
    this.route();
  }

  askForLogin() {
    this.live.close();
    this.hideBanner();
    document.body.dataset.login = "no";
    this.forget();
    const view = new LoginView(() => this.start());
    this.show(view);
    view.user.focus();
  }

  async logout() {
    this.live.close();
    try {
      await api.logout();
    } finally {
      // A member that trusts this machine would admit the page again at once; the form is for logging in as another user.
      window.history.replaceState(null, "", window.location.pathname);
      this.askForLogin();
    }
  }

  route() {
    if (document.body.dataset.login !== "yes") return;
    const [name, id] = window.location.hash.replace(/^#\/?/, "").split("/");
    this.query = null;
    if (name === "statements" && id) {
      const view = new StatementView(decodeURIComponent(id));
      this.live.follow(view.id);
      this.show(view);
      view.load();
    } else {
      this.live.follow(null);
      this.show(name === "explain" ? this.explainView : this.overviewView);
      this.draw();
    }
    for (const link of this.links) setAttribute(link, "aria-current", link.dataset.view === name ? "page" : null);
  }

  show(view) {
    if (this.view === view) return;
    const first = this.view === null;
    this.view = view;
    document.title = `${view.title} \u2013 Sluice`;
    this.main.replaceChildren(view.node);
    if (!first) {
      window.scrollTo(0, 0);
      this.main.focus({ preventScroll: true });
    }
  }

  /** Keep the newest message of a kind until the browser draws. */
  receive(kind, value) {
    this[kind] = value;
    heard(value.at);
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    if (this.view === this.overviewView && this.overview) this.view.update(this.overview);
    if (this.view instanceof StatementView && this.query) this.view.update(this.query, serverNow());
    this.query = null;
  }

  tellConnection({ state, seconds }) {
    if (state === "open") return this.hideBanner();
    clearInterval(this.countdown);
    let left = Math.ceil(seconds);
    const tell = () => {
      const when = left > 0 ? `trying again in ${format.duration(left).replace(/\.\d+/, "")}` : "trying again";
      setText(this.bannerText, `The connection to ${this.member ? `member ${this.member}` : "the member"} is lost; ${when}.`);
      left -= 1;
    };
    tell();
    this.countdown = setInterval(tell, 1000);
    this.banner.hidden = false;
    document.body.dataset.connection = "lost";
  }

  hideBanner() {
    if (this.banner.hidden) return;
    clearInterval(this.countdown);
    this.banner.hidden = true;
    document.body.dataset.connection = "open";
  }
}

new Console().start();
