// What went wrong while signing in, and what to do. Pure.
import { GantryError } from '#client/index.ts'

const SINGLE_SIGN_ON: Record<string, string> = {
  sso_unavailable: 'The identity provider is not available right now. Try again in a few minutes.',
  sso_rejected: 'The identity provider did not confirm who you are. Try again, or ask your administrator.',
  sso_expired: 'The sign-in took too long or was opened in another browser. Try again.',
  sso_no_account:
    'Your identity is not linked to an account here. Ask for an invitation, or sign in and link it on your account page.',
  sso_email_taken:
    'Another account already uses your email address. Sign in to it with your password and link this identity on your account page.',
  sso_identity_taken: 'This identity is already linked to another account. Unlink it there first.',
}

/** `code` is the one in the URL: `/app/sign-in?problem=sso_expired`. */
export function singleSignOnProblem(code: string | null): string | undefined {
  if (!code) return undefined
  return Object.hasOwn(SINGLE_SIGN_ON, code) ? SINGLE_SIGN_ON[code] : 'Single sign-on failed. Try again.'
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

export function signInProblem(error: Error, now: number): string {
  if (!(error instanceof GantryError)) return 'Gantry is unreachable. Try again in a moment.'
  if (error.status === 401) return 'Incorrect email or password'
  if (error.status !== 429 || error.retryAfterSeconds === null) return error.message
  return `Too many failed attempts. Try again ${retryTime(error.retryAfterSeconds, now)}.`
}

/** The clock time does not go stale while the message stays on the page. */
function retryTime(seconds: number, now: number): string {
  if (seconds <= 60) return 'in a minute'
  return `in ${Math.ceil(seconds / 60)} minutes, at ${clock.format(now + seconds * 1_000)}`
}
