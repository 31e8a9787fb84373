const NAME = /^\d{14}-[0-9a-f]{8}$/

/** The same in bash. */
export const NAME_IN_BASH = '^[0-9]{14}-[0-9a-f]{8}$'

/** `YYYYMMDDHHMMSS-<8 hex of the commit>`, in UTC. */
export function releaseName(at: Date, hash: string): string {
  if (!/^[0-9a-f]{8,64}$/.test(hash)) throw new Error('A release is named after the hash of a commit.')
  return `${at.toISOString().replace(/\D/g, '').slice(0, 14)}-${hash.slice(0, 8)}`
}

/** The first name from `at` on whose second no taken name has, so that names sort as releases came. */
export function freeReleaseName(at: Date, hash: string, taken: Iterable<string>): string {
  const seconds = new Set(Array.from(taken, (name) => name.slice(0, 14)))
  for (let time = at.getTime(); ; time += 1_000) {
    const name = releaseName(new Date(time), hash)
    if (!seconds.has(name.slice(0, 14))) return name
  }
}

export function isReleaseName(text: string): boolean {
  return NAME.test(text)
}

/** Throws on anything else: from here on a name becomes part of a path. */
export function demandReleaseName(text: string): string {
  if (!isReleaseName(text)) throw new Error(`${JSON.stringify(text)} is not the name of a release.`)
  return text
}
