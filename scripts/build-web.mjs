// Builds the dashboard if its sources have changed since the last build. Plain JavaScript without dependencies, like
// ensure.mjs, which has to run first.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const web = join(root, 'web')
const dist = join(web, 'dist')
const stamp = join(dist, '.built')
const COMPRESSIBLE = ['.css', '.html', '.js', '.json', '.svg', '.txt', '.webmanifest']

const expected = existsSync(join(web, 'index.html')) ? fingerprint() : undefined
const isCurrent = existsSync(stamp) && readFileSync(stamp, 'utf8') === expected

// The API does not need the pages: a failed build is reported and does not keep Gantry from starting.
if (expected !== undefined && !isCurrent && !build()) {
  console.error('gantry: failed to build the dashboard; see above. Everything else works without it.')
}

/** A hash of the names and contents of all sources, and of the build tools. */
function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  hash.update(readFileSync(fileURLToPath(import.meta.url)))
  for (const path of sources(web).sort()) {
    const bytes = readFileSync(path)
    hash.update(`${relative(web, path)}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (/^(dist|node_modules|\..*)$/.test(entry.name)) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? sources(path) : [path]
  })
}

/** Into a separate folder, which then replaces the old one: of two concurrent builds either may win. */
function build() {
  console.log('gantry: building the dashboard…')
  const fresh = join(web, `.dist-${process.pid}`)
  try {
    if (!runVite(fresh)) return false
    for (const path of sources(fresh)) compress(path)
    writeFileSync(join(fresh, '.built'), expected)
    replaceDist(fresh)
    return true
  } catch (error) {
    console.error(`gantry: ${error.message}`)
    return false
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** With the Node that was installed with the dependencies: the machine's own may be too old. */
function runVite(outDir) {
  const installed = join(root, 'node_modules', '.bin', 'node')
  const node = existsSync(installed) ? installed : process.execPath
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', web, '--outDir', outDir, '--emptyOutDir', '--logLevel', 'warn']
  const env = { ...process.env, NODE_ENV: 'production' }
  return spawnSync(node, args, { cwd: root, env, stdio: 'inherit' }).status === 0
}

function compress(path) {
  if (!COMPRESSIBLE.includes(extname(path))) return
  const bytes = readFileSync(path)
  if (bytes.length < 1_024) return
  writeFileSync(`${path}.br`, brotliCompressSync(bytes))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}

function replaceDist(fresh) {
  const old = `${fresh}-old`
  mkdirSync(dist, { recursive: true })
  try {
    renameSync(dist, old)
    renameSync(fresh, dist)
  } catch (error) {
    // A concurrent build was faster, and its result is the same.
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}
