// Prints the files that `node --test` runs instead of the test files matching the given patterns: as many as run at a
// time, and each takes one test file after the other from a common queue. To load the server and to prepare an app
// costs more than most test files do, and is done once for each process.
import { globSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** As many as two cores keep busy. */
const PROCESSES = 3

/** The files that take longest come first, so that no process is left alone with one at the end. */
const LONGEST = [
  'cli/main-path',
  'runs',
  'project',
  'deliveries',
  'incoming',
  'pages/pages.browser',
  'pages/runs.browser',
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
for (let number = 1; number <= PROCESSES; number++) {
  const path = join(folder, `${number}.mjs`)
  writeFileSync(path, `import { runQueue } from ${runner}\nawait runQueue(import.meta.filename)\n`)
  console.log(path)
}

/** Those under server/, most of which open nothing, come last; of one folder, the largest file is the first. */
function longestFirst(files) {
  const place = (file) => {
    if (file.startsWith('server/')) return LONGEST.length + 1
    const index = LONGEST.findIndex((start) => file.startsWith(`test/${start}`))
    return index === -1 ? LONGEST.length : index
  }
  return files.toSorted((a, b) => place(a) - place(b) || statSync(b).size - statSync(a).size)
}
