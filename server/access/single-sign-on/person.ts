/** Who somebody is at the identity provider. Issuer and subject identify them; the rest may change. */
export type Person = {
  issuer: string
  subject: string
  /** Null when the provider gives none, or one that is not a plain address. */
  email: string | null
  /** What the provider says about this exact address; null: nothing. */
  isEmailVerified: boolean | null
  name: string | null
  groups: string[]
}

type Claims = { [claim: string]: unknown }
/** What the ID token says, and what the userinfo endpoint does. */
export type Sources = { idToken: Claims & { iss: string; sub: string }; userinfo: Claims }

const MAX_GROUPS = 1_000

/** Pure. The claims are checked, but their values are whatever people entered at the provider. */
export function readPerson({ idToken, userinfo }: Sources, groupsClaim: string): Person {
  const claims = { ...userinfo, ...idToken }
  const groups = Object.hasOwn(claims, groupsClaim) ? [claims[groupsClaim]].flat() : []
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: readEmail(claims.email),
    isEmailVerified: isVerified(claims.email, [idToken, userinfo]),
    name: readName(claims.name) ?? readName(claims.preferred_username),
    groups: groups.filter((group) => typeof group === 'string').slice(0, MAX_GROUPS),
  }
}

/** A claim in one source says nothing about an address that only the other one names. Some providers send words. */
function isVerified(email: unknown, sources: readonly Claims[]): boolean | null {
  const answers = sources.filter((claims) => claims.email === email).map(answerOf)
  const denials = sources.filter((claims) => claims.email === undefined || claims.email === email)
  if (denials.some((claims) => answerOf(claims) === 'false')) return false
  return answers.includes('true') || null
}

const answerOf = ({ email_verified: answer }: Claims) =>
  typeof answer === 'boolean' || typeof answer === 'string' ? String(answer) : undefined

/** Plain ASCII, as in invitations: nothing invisible, no look-alikes, and one opinion of what is lower case. */
function readEmail(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 255) return null
  return /^[!-?A-~]+@[!-?A-~]+$/.test(value) ? value : null
}

/** As a `Name` of the API: one line, visible, and it does not change the direction of text. */
function readName(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const name = value
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu, ' ')
    .trim()
    .slice(0, 255)
    .toWellFormed()
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(name) ? name : null
}
