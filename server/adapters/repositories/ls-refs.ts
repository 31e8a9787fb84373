// The request of git's protocol, version 2, that lists branches: one small POST on a connection that stays open, where git would
// start two processes. Pure.

/** https://git-scm.com/docs/protocol-v2#_ls_refs */
export function lsRefsRequest(branches: readonly string[]): Buffer {
  const lines = [
    line('command=ls-refs\n'),
    '0001',
    ...branches.map((branch) => line(`ref-prefix refs/heads/${branch}\n`)),
    '0000',
  ]
  return Buffer.from(lines.join(''))
}

const line = (text: string) => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text

/** Every branch in the answer with its commit; null: it is no such answer. */
export function readLsRefs(body: Buffer): Map<string, string> | null {
  const tips = new Map<string, string>()
  for (let at = 0; at < body.length; ) {
    const digits = body.toString('latin1', at, at + 4)
    if (!/^[0-9a-f]{4}$/.test(digits)) return null
    const length = Number.parseInt(digits, 16)
    // A flush ends the list.
    if (length === 0) return tips
    if (length < 5 || at + length > body.length) return null
    const entry = /^([0-9a-f]{40}|[0-9a-f]{64}) refs\/heads\/([^ \n]+)/.exec(
      body.toString('utf8', at + 4, at + length),
    )
    if (!entry) return null
    tips.set(entry[2]!, entry[1]!)
    at += length
  }
  return null
}

/** `git ls-remote`, as text. */
export function readLsRemote(output: string): Map<string, string> {
  const entries = output.matchAll(/^([0-9a-f]{40}|[0-9a-f]{64})\trefs\/heads\/(.+)$/gm)
  return new Map(Array.from(entries, ([, hash, branch]) => [branch!, hash!]))
}
