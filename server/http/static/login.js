// The login form, for the same users and passwords as over SQL.

import * as api from "./api.js";
import { el, setText } from "./dom.js";

export class LoginView {
  /** entered(): called after a login. */
  constructor(entered) {
    this.title = "Log in";
    this.entered = entered;
    const plain = { autocapitalize: "none", spellcheck: "false" };
    this.user = el("input", { name: "user", autocomplete: "username", required: true, ...plain });
    this.password = el("input", { name: "password", type: "password", autocomplete: "current-password" });
    this.error = el("p", { class: "error", role: "alert", hidden: true });
    this.button = el("button", { class: "primary" }, "Log in");
    const form = el(
      "form", { class: "login", method: "post", onsubmit: (event) => this.submit(event) },
      el("h1", {}, "Log in"),
      el("p", { class: "quiet" }, "Use the user name and password of your SQL connections."),
      el("label", {}, "User", this.user),
      el("label", {}, "Password", this.password),
      this.error,
      this.button,
    );
    this.node = el("div", { class: "login-place" }, form);
  }

  async submit(event) {
    event.preventDefault();
    this.button.disabled = true;
    this.error.hidden = true;
    try {
      await api.login(this.user.value, this.password.value);
      this.password.value = "";
      this.entered();
    } catch (error) {
      this.error.hidden = false;
      setText(this.error, error.message);
      this.password.select();
    } finally {
      this.button.disabled = false;
    }
  }
}
