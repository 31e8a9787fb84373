// Makes sure that node_modules is what package-lock.json says, before anything else runs. Plain JavaScript
// without dependencies: it must work on the Node that the machine happens to have.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.gantry-installed')
const lock = join(root, '.gantry-installing')
const STALE_AFTER_MS = 30_000

const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(readFileSync(join(root, 'package.json')))
  .digest('hex')

const isCurrent = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted

if (!isCurrent()) {
  takeLock()
  try {
    if (!isCurrent()) await install()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

async function install() {
  console.log('gantry: installing dependencies (once)…')
  const [command, ...args] = npmCommand()
  const npm = spawn(command, args, { cwd: root, stdio: 'inherit' })
  // Keeps the lock fresh for as long as npm runs.
  const heartbeat = setInterval(() => utimesSync(lock, new Date(), new Date()), 5_000)
  const code = await new Promise((resolve) => npm.on('error', () => resolve(1)).on('close', resolve))
  clearInterval(heartbeat)
  if (code === 0) return writeFileSync(stamp, wanted)
  console.error('gantry: npm ci failed; see above. Nothing was started.')
  process.exitCode = 1
}

// No package's install script is needed, so none is run.
function npmCommand() {
  const args = [
    'ci',
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const npm = process.env.npm_execpath
  return npm ? [process.execPath, npm, ...args] : ['npm', ...args]
}

/** If `npm start` and `npm test` run together, one installs and the other waits. A dead process's lock goes stale. */
function takeLock() {
  for (;;) {
    try {
      mkdirSync(lock)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    try {
      if (Date.now() - statSync(lock).mtimeMs > STALE_AFTER_MS) rmSync(lock, { recursive: true, force: true })
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
}
