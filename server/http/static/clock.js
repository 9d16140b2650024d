// The server's time. Elapsed times are computed from it, because browsers' clocks differ.

let ahead = 0;

/** The server's time, in seconds since the epoch. */
export const serverNow = () => Date.now() / 1000 + ahead;

/** Set the clock to a time that the server has just sent. */
export function heard(at) {
  if (typeof at === "number") ahead = at - Date.now() / 1000;
}
