// Builds the dashboard if its sources have changed since the last build. Plain JavaScript without dependencies, like
// ensure.mjs, which has to run first.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compressFiles, fingerprint, installedNode, isBuilt, replaceFolder, root } from './built.mjs'

const web = join(root, 'web')
const dist = join(web, 'dist')
const stamp = join(dist, '.built')

const SOURCES = ['web', 'client/src', 'scripts/build-web.mjs']
const expected = existsSync(join(web, 'index.html')) ? fingerprint(SOURCES) : undefined

// The API does not need the pages: a failed build is reported and does not keep Gantry from starting.
if (expected !== undefined && !isBuilt(stamp, expected) && !build()) {
  console.error('gantry: failed to build the dashboard; see above. Everything else works without it.')
}

/** Into a separate folder, which then replaces the old one: of two concurrent builds either may win. */
function build() {
  console.log('gantry: building the dashboard…')
  const fresh = join(web, `.dist-${process.pid}`)
  try {
    if (!runVite(fresh)) return false
    compressFiles(fresh)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    writeFileSync(join(fresh, '.version'), version)
    writeFileSync(join(fresh, '.built'), expected)
    replaceFolder(fresh, dist)
    return true
  } catch (error) {
    console.error(`gantry: ${error.message}`)
    return false
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function runVite(outDir) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', web, '--outDir', outDir, '--emptyOutDir', '--logLevel', 'warn']
  const env = { ...process.env, NODE_ENV: 'production' }
  return spawnSync(installedNode(), args, { cwd: root, env, stdio: 'inherit' }).status === 0
}
