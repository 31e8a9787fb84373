/**
 * Triggers of the database notify it when somebody may do less than before: a token is revoked, a session or an account
 * ended, grants or a role changed. The payload is the id of the user; empty: it may be anybody.
 */
export const ACCESS_CHANNEL = 'access'
