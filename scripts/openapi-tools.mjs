// Installs the linters and generators that test/client runs on the OpenAPI document, once for each state of their lock
// file, and prints the folder. It is a folder of their own, because they need the compiler API of TypeScript 5, and
// because people who run Gantry need none of them.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const MANIFESTS = join(ROOT, 'test/client/openapi-tools')
const CACHE = join(ROOT, 'node_modules/.cache')
const FILES = ['package.json', 'package-lock.json']
const INSTALL = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

const hash = createHash('sha256')
for (const file of FILES) hash.update(readFileSync(join(MANIFESTS, file)))
const name = `openapi-tools-${hash.digest('hex').slice(0, 16)}`
const folder = join(CACHE, name)
if (!existsSync(folder)) install()
console.log(folder)

function install() {
  console.error('gantry: installing the tools that test the OpenAPI document (once)…')
  mkdirSync(CACHE, { recursive: true })
  const workspace = mkdtempSync(`${folder}.part-`)
  try {
    for (const file of FILES) copyFileSync(join(MANIFESTS, file), join(workspace, file))
    const npm = process.env.npm_execpath
    const [program, ...first] = npm ? [process.execPath, npm] : ['npm']
    const { status } = spawnSync(program, [...first, ...INSTALL], {
      cwd: workspace,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (status !== 0) throw new Error(`npm ci failed in ${MANIFESTS}`)
    moveUnlessThere(workspace, folder)
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
  for (const other of readdirSync(CACHE))
    if (/^openapi-tools-[0-9a-f]+$/.test(other) && other !== name)
      rmSync(join(CACHE, other), { recursive: true, force: true })
}

/** Another process may have installed the same meanwhile. */
function moveUnlessThere(from, to) {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!existsSync(to)) throw error
  }
}
