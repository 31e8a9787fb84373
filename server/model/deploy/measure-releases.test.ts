import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { measureReleases, readSizes } from './commands.ts'
import { makeBase, release, run } from './fixtures.ts'

suite('how large releases are', () => {
  test('each takes what its files take, and one that is gone has no size', async (t) => {
    const base = await makeBase(t)
    for (const [day, size] of [
      [1, 200_000],
      [2, 1],
    ] as const) {
      await mkdir(join(base, 'releases', release(day)))
      await writeFile(join(base, 'releases', release(day), 'file'), Buffer.alloc(size, 'x'))
    }
    const { code, output } = await run(measureReleases(base, [release(1), release(2), release(3)]))
    assert.equal(code, 0, output)
    const sizes = readSizes(output)
    assert.deepEqual([...sizes.keys()], [release(1), release(2)])
    assert.ok(sizes.get(release(1))! >= 200_000)
    assert.ok(sizes.get(release(2))! < 100_000)
  })

  test('what is not a size is ignored', () => {
    const lines = [
      `gantry-size ${release(1)} 12`,
      `gantry-size ${release(2)} `,
      'gantry-size .. 5',
      'noise 1 2',
    ]
    assert.deepEqual([...readSizes(lines.join('\n'))], [[release(1), 12]])
  })
})
