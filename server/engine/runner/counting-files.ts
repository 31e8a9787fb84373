import { setImmediate } from 'node:timers/promises'
import { countsFile, type PathRules } from '#model/payload/path-rules.ts'

type ChangedFile = { path: string; old_path: string | null }

/** The process does other work in between: there may be 100,000 files, and 100 globs for each. */
const SLICE_MS = 20
const MAX_SHOWN = 200

/** The first file that counts, under its new or old name. Throws the signal's reason when aborted. */
export async function findCounting<File extends ChangedFile>(
  rules: PathRules,
  files: readonly File[],
  signal: AbortSignal,
): Promise<File | undefined> {
  let began = performance.now()
  for (const file of files) {
    const { path, old_path } = file
    if (countsFile(rules, path) || (old_path !== null && countsFile(rules, old_path))) return file
    if (performance.now() - began < SLICE_MS) continue
    await setImmediate()
    signal.throwIfAborted()
    began = performance.now()
  }
  return undefined
}

/** As one line of a log: anyone who may push chooses the names of files. */
export function shownPath(path: string): string {
  const line = path.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 1).toWellFormed()}…` : line
}
