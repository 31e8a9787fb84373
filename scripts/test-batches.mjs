// Prints the files that `node --test` runs instead of the test files matching the given patterns: each of them
// runs several test files, one after the other, in one process. To load the server and to prepare an app
// costs more than most test files do, and is done once for each process.
import { globSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Most tests under server/ open nothing, those under test/ an app with a database each; runs and whole processes take
 * longer than others.
 */
const SIZES = { server: 32, test: 13, runs: 5, project: 2 }

const files = [...new Set(process.argv.slice(2).flatMap((pattern) => globSync(pattern)))].sort()
if (files.length === 0) {
  console.error('gantry: no test files match')
  process.exit(1)
}
const folder = mkdtempSync(join(tmpdir(), 'gantry-test-batches-'))
const runner = JSON.stringify(resolve('test/support/batch.ts'))
for (const [index, batch] of batchesOf(files).entries()) {
  const path = join(folder, `${String(index + 1).padStart(2, '0')}.mjs`)
  writeFileSync(
    path,
    `import { runFiles } from ${runner}\nawait runFiles(import.meta.filename, ${JSON.stringify(batch)})\n`,
  )
  console.log(path)
}

/** Batches of equal size, of files of one folder; those that wait most come first, so that none is left alone at the end. */
function batchesOf(files) {
  const folders = Map.groupBy(files, (file) => (file.startsWith('server/') ? 'server' : file.split('/')[1]))
  const batches = [...folders].flatMap(([name, inside]) => {
    const count = Math.ceil(inside.length / (SIZES[name] ?? SIZES.test))
    return Array.from({ length: count }, (_, index) => inside.filter((_, at) => at % count === index))
  })
  return batches.reverse()
}
