// Stack traces of a bundle name its sources. Node would read the source maps when it loads the code, which takes longer
// than many a step of a start; here they are read when the first stack trace is asked for.
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export function nameSources(folder) {
  const maps = new Map()
  const bundled = `${pathToFileURL(folder).href}/`
  const position = new RegExp(`${RegExp.escape(bundled)}([\\w.-]+\\.mjs):(\\d+):(\\d+)`)

  const mapOf = (name) => {
    if (!maps.has(name)) maps.set(name, readMap(join(folder, `${name}.map`)))
    return maps.get(name)
  }
  const sourceOf = (found, name, line, column) => {
    const entry = mapOf(name)?.findEntry(line - 1, column - 1)
    // For a line of a dependency, which has no map, it is the last entry before it.
    if (entry?.originalSource === undefined || entry.generatedLine !== line - 1) return found
    const source = pathToFileURL(join(folder, entry.originalSource)).href
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  }
  Error.prepareStackTrace = (error, frames) => {
    const lines = frames.map((frame) => `\n    at ${String(frame).replace(position, sourceOf)}`)
    return `${Error.prototype.toString.call(error)}${lines.join('')}`
  }
}

/** Undefined when it cannot be read: a stack trace is never a reason to fail. */
function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}
