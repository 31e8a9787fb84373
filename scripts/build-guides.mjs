// Renders the guides, docs/, if they have changed since the last build. A link that leads nowhere fails it.
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { compressFiles, fingerprint, installedNode, isBuilt, replaceFolder, root } from './built.mjs'

const dist = join(root, 'docs', 'dist')
const SOURCES = [
  'docs',
  'package.json',
  'scripts/build-guides.mjs',
  'scripts/guides',
  'server/ops/reference/html.ts',
]

if (!build()) {
  console.error('gantry: failed to build the guides; see above.')
  // Gantry itself works without them.
  if (basename(process.argv[1]) !== 'start.mjs') process.exitCode = 1
}

function build() {
  const fresh = join(root, 'docs', `.dist-${process.pid}`)
  try {
    const expected = fingerprint(SOURCES)
    if (isBuilt(join(dist, '.built'), expected)) return true
    const script = join(root, 'scripts', 'guides', 'build-guides.ts')
    if (spawnSync(installedNode(), [script, root, fresh], { cwd: root, stdio: 'inherit' }).status !== 0)
      return false
    compressFiles(fresh)
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
