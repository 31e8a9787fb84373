import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { readOneLiner, readScript } from './scripts.ts'

test('a script has no comments, and contains those that it names', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-scripts-'))
  t.after(() => rm(folder, { recursive: true }))
  const base = pathToFileURL(join(folder, 'module.ts')).href
  await writeFile(join(folder, 'shared.sh'), '#!/bin/bash\n# Why.\nsay() { echo "$& $1 # no comment"; }\n')
  await writeFile(
    join(folder, 'a.sh'),
    '#!/bin/bash\nsource ./shared.sh\n\nif true; then\n  # Why.\n  say a;\nfi\n',
  )
  assert.equal(
    readScript('./a.sh', base),
    'say() { echo "$& $1 # no comment"; }\nif true; then\n  say a;\nfi\n',
  )
  assert.equal(readOneLiner('./a.sh', base), 'say() { echo "$& $1 # no comment"; } if true; then say a; fi')
})
