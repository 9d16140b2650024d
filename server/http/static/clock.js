// The server's time. Browsers' clocks differ from it, and elapsed times are of the server's moments.

let ahead = 0;

/** The server's time, in seconds since the epoch. */
export const serverNow = () => Date.now() / 1000 + ahead;

/** Take over a moment that the server has just told. */
export function heard(at) {
  if (typeof at === "number") ahead = at - Date.now() / 1000;
}
