// A page of many actions takes about as long wherever it begins.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { countClosedBlocks } from '#engine/counts/action-blocks.ts'
import { openManyActions } from './many-actions.ts'

const { db, places, get } = await openManyActions({ after })
await countClosedBlocks(db)
// What the tree says about these actions is in memory from here on.
for (const { environmentId } of places)
  await get(`/actions?per_page=100&filter[environment_id]=${environmentId}`)

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!

test('page 500 takes at most three times as long as page 1', async (t) => {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < 5; round++) {
    for (const [index, number] of [1, 500].entries()) {
      const begun = performance.now()
      await get(`/actions?per_page=100&page=${number}`)
      times[index]!.push(performance.now() - begun)
    }
  }
  const [near, deep] = times.map(median) as [number, number]
  t.diagnostic(
    `page 1: ${near.toFixed(1)} ms, page 500: ${deep.toFixed(1)} ms, ratio ${(deep / near).toFixed(2)}`,
  )
  assert.ok(deep <= 3 * near, `${deep} ms to ${near} ms`)
})
