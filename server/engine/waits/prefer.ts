/** No request waits longer. */
const MAX_WAIT_SECONDS = 300

/** Longer than any header of this kind: not worth reading. */
const MAX_LENGTH = 1_000

const QUOTED = /"(?:[^"\\]|\\.)*"/g
const PREFERENCES = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g
const WAIT = /^\s*wait\s*=\s*(?:(\d+)|"(\d+)")\s*(?:;|$)/i

/**
 * The seconds of `Prefer: wait=<seconds>` (RFC 7240), at most 300. Undefined for a header without that preference or
 * with one that makes no sense: a preference is never an error. Of several, the first counts. Pure.
 */
export function waitSecondsOf(prefer: string | readonly string[] | undefined): number | undefined {
  if (prefer === undefined) return undefined
  const text = [prefer].flat().join(',')
  if (text.length > MAX_LENGTH || text.replaceAll(QUOTED, '').includes('"')) return undefined
  const first = (text.match(PREFERENCES) ?? []).find((preference) => /^\s*wait\b/i.test(preference))
  const [, plain, quoted] = WAIT.exec(first ?? '') ?? []
  const seconds = Number(plain ?? quoted ?? 0)
  return seconds > 0 ? Math.min(seconds, MAX_WAIT_SECONDS) : undefined
}
