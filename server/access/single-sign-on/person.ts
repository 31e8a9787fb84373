/** Who somebody is at the identity provider. Issuer and subject identify them; the rest may change. */
export type Person = {
  issuer: string
  subject: string
  /** Null when the provider gives none, or one that it has not verified. */
  email: string | null
  name: string | null
  groups: string[]
}

type Claims = { iss: string; sub: string; [claim: string]: unknown }

const MAX_GROUPS = 1_000

/** Pure. The claims are checked, but their values are whatever people entered at the provider. */
export function readPerson(claims: Claims, groupsClaim: string): Person {
  const groups = Object.hasOwn(claims, groupsClaim) ? [claims[groupsClaim]].flat() : []
  return {
    issuer: claims.iss,
    subject: claims.sub,
    // Some providers send the word.
    email: String(claims.email_verified) === 'false' ? null : readEmail(claims.email),
    name: readName(claims.name) ?? readName(claims.preferred_username),
    groups: groups.filter((group) => typeof group === 'string').slice(0, MAX_GROUPS),
  }
}

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
