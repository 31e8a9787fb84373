// What the build scripts share. Plain JavaScript without dependencies: the machine's own Node runs it.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * A hash of the names and contents of all sources, given relative to the project, of the tools that build them, and of
 * what else the result depends on.
 */
export function fingerprint(paths, more = '') {
  const hash = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(more)
  for (const path of paths.flatMap((path) => filesIn(join(root, path))).sort()) {
    const bytes = readFileSync(path)
    hash.update(`${relative(root, path)}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}

export function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !/^(dist|node_modules|\..*)$/.test(name))
    .flatMap((entry) => (entry.isFile() ? [join(path, entry.name)] : filesIn(join(path, entry.name))))
}

export const isBuilt = (stamp, expected) => existsSync(stamp) && readFileSync(stamp, 'utf8') === expected

/** The Node that was installed with the dependencies: the machine's own may be too old. */
export function installedNode() {
  const installed = join(root, 'node_modules', '.bin', 'node')
  return existsSync(installed) ? installed : process.execPath
}

const COMPRESSIBLE = ['.css', '.html', '.js', '.json', '.svg', '.txt', '.webmanifest']

/** Puts compressed copies beside the files that are served. */
export function compressFiles(folder) {
  for (const path of filesIn(folder)) {
    if (!COMPRESSIBLE.includes(extname(path))) continue
    const bytes = readFileSync(path)
    if (bytes.length < 1_024) continue
    writeFileSync(`${path}.br`, brotliCompressSync(bytes))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
}

/** A new build in the place of the old one: of two concurrent builds either may win. */
export function replaceFolder(fresh, folder) {
  const old = `${fresh}-old`
  mkdirSync(folder, { recursive: true })
  try {
    renameSync(folder, old)
    renameSync(fresh, folder)
  } catch (error) {
    // A concurrent build was faster, and its result is the same.
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}
