/** Paths of payloads are written `a.b.0.c`, `a["x.y"]` or `a\.b`. */
const KEY = /\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]|((?:[^.[\]\\]|\\.)+)/gsy

/** The value at a path that the server has accepted; undefined when the payload has none. Pure. */
export function valueAt(payload: unknown, path: string): unknown {
  let value = payload
  let at = 0
  while (at < path.length) {
    KEY.lastIndex = at
    const match = KEY.exec(path)
    if (!match) return undefined
    const key = (match[1] ?? match[2] ?? match[3] ?? match[4]!).replaceAll(/\\(.)/gs, '$1')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
    at = KEY.lastIndex
    if (path[at] === '.') at += 1
  }
  return value
}
