// Prints the files that `node --test` runs instead of the test files matching the given patterns: each takes one test
// file after the other from a common queue. To load the server and to prepare an app costs more than most test files
// do, and is done once for each process.
import { globSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** As many as two cores keep busy, and those that follow the ones that have grown too large. */
const PROCESSES = { atATime: 3, inAll: 15 }

/** The files that take longest come first, so that no process is left alone with one at the end. */
const LONGEST = [
  'test/cli/main-path',
  'server/adapters',
  'server/model/deploy',
  'test/runs',
  'test/project',
  'test/deliveries',
  'test/incoming',
  'test/pages/pages.browser',
  'test/pages/runs.browser',
]

const files = [...new Set(process.argv.slice(2).flatMap((pattern) => globSync(pattern)))].sort()
if (files.length === 0) {
  console.error('gantry: no test files match')
  process.exit(1)
}
const folder = mkdtempSync(join(tmpdir(), 'gantry-test-batches-'))
const queue = join(folder, 'queue')
mkdirSync(queue)
for (const [index, file] of longestFirst(files).entries())
  writeFileSync(join(queue, String(index).padStart(4, '0')), file)

const runner = JSON.stringify(resolve('test/support/batch.ts'))
for (let number = 1; number <= PROCESSES.inAll; number++) {
  const path = join(folder, `${String(number).padStart(2, '0')}.mjs`)
  const isLast = number > PROCESSES.inAll - PROCESSES.atATime
  writeFileSync(path, `import { runQueue } from ${runner}\nawait runQueue(import.meta.filename, ${isLast})\n`)
  console.log(path)
}

/** The others under server/, most of which open nothing, come last; of one folder, the largest file is the first. */
function longestFirst(files) {
  const place = (file) => {
    const index = LONGEST.findIndex((start) => file.startsWith(start))
    if (index !== -1) return index
    return file.startsWith('server/') ? LONGEST.length + 1 : LONGEST.length
  }
  return files.toSorted((a, b) => place(a) - place(b) || statSync(b).size - statSync(a).size)
}
