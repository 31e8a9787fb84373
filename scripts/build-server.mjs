// Bundles the server and its dependencies, if a source has changed since the last build: Node spends most of a start on
// finding and linking 2,300 modules. `npm start` runs the bundle, and so do tests that start a process.
import { spawnSync } from 'node:child_process'
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
import { join } from 'node:path'
import { filesIn, fingerprint, installedNode, root } from './built.mjs'

const ABANDONED_AFTER_MS = 3_600_000
const SOURCES = ['server', 'client/src', 'scripts/build-server.mjs', 'scripts/server.rolldown.mjs']
const folder = join(root, 'node_modules', '.cache', 'gantry-server')
/**
 * Named after the sources, and where they are, because the bundle has their paths. A process never loads one half from
 * this build and the other from the next.
 */
const built = join(folder, fingerprint(SOURCES, root).slice(0, 32))

/** Its folder; undefined when there is none, which is reported and does not keep Gantry from starting. */
export const bundle = existsSync(built) || build() ? built : undefined

/** Under another name first: an interrupted build is never mistaken for a complete one. */
function build() {
  const fresh = join(folder, `.${process.pid}`)
  try {
    mkdirSync(folder, { recursive: true })
    if (!runRolldown(fresh)) throw new Error('see above')
    for (const path of filesIn(fresh)) if (path.endsWith('.map')) shrink(path)
    publish(fresh)
    removeOthers()
    return true
  } catch (error) {
    console.error(
      `gantry: failed to bundle the server (${error.message}). It starts from its sources, more slowly.`,
    )
    return false
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function runRolldown(output) {
  const rolldown = join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs')
  const args = [rolldown, '-c', join(root, 'scripts', 'server.rolldown.mjs'), '-d', output]
  return spawnSync(installedNode(), args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

/** The sources are there anyway. */
function shrink(path) {
  const { sourcesContent: _, ...map } = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify(map))
}

function publish(fresh) {
  try {
    renameSync(fresh, built)
  } catch (error) {
    // A concurrent build was faster, and its result is the same.
    if (!['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error
  }
}

/** Processes that run from them have loaded all that they need. Builds that go on are left alone. */
function removeOthers() {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
    const isGoingOn = name.startsWith('.') && Date.now() - mtimeMs < ABANDONED_AFTER_MS
    if (path !== built && !isGoingOn) rmSync(path, { recursive: true, force: true })
  }
}
