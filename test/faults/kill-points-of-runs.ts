// Points of a run outside the steps of a deploy: before it, between its parts, and in steps that people wrote.
import assert from 'node:assert/strict'
import { liveFile } from '#test/support/releases.ts'
import { until } from '#test/support/until.ts'
import { type KillStage, MAX_MS, type Points, REPEATABLE, waitAt } from './kill-stage.ts'

export function pointsOfRuns(stage: KillStage): Points {
  const { run, show, completed, endedWith, makeCustom, makeGate, makeShop, countRuns } = stage

  return {
    'before the job of the run is taken': async () => {
      const mark = countRuns('untaken')
      const { pipelineId } = await makeCustom([mark.step])
      let id = 0
      return {
        async last() {
          stage.worker.child.kill('SIGSTOP')
          id = await run(pipelineId)
        },
        async check() {
          await completed(id)
          assert.equal(await mark.times(), 1)
        },
      }
    },

    'while it waits for a slot': async () => {
      const gate = makeGate('place')
      const mark = countRuns('place')
      const { pipelineId } = await makeCustom([waitAt(gate, REPEATABLE), mark.step])
      const [first, second] = [await run(pipelineId), await run(pipelineId)]
      await gate.reached()
      await until('the second waits', MAX_MS, async () => (await show(second)).status === 'waiting')
      return {
        release: gate.open,
        async check() {
          await completed(first)
          await completed(second)
          assert.deepEqual([await gate.entered(), await mark.times()], [3, 2])
        },
      }
    },

    'between two batches': async () => {
      const gate = makeGate('batches')
      const mark = countRuns('batches')
      const shop = await makeShop(
        'batches',
        { 'build-application': mark.step },
        {
          servers: 2,
          pipeline: { rollout: JSON.stringify({ batch: 1, max_failed: 0 }) },
        },
      )
      const other = await stage.makePipeline(shop.environmentId, [waitAt(gate, REPEATABLE)], {
        resource_type: 'server',
        server_id: shop.serverIds[1]!,
        operation: 'custom',
      })
      const occupant = await run(other)
      await gate.reached()
      const id = await run(shop.pipelineId)
      await until('the first batch is over and the second waits', MAX_MS, async () => {
        const { targets } = await show(id)
        return targets[0].status === 'completed' && targets[1].status === 'waiting'
      })
      return {
        release: gate.open,
        async check() {
          await completed(occupant)
          await completed(id)
          assert.equal(await mark.times(), 2, 'once on each server')
          for (const base of shop.bases) assert.equal(await liveFile(base, 'name'), 'batches')
        },
      }
    },

    'while it cancels': async () => {
      const gate = makeGate('cancel')
      const asked = countRuns('asked-to-end')
      const { pipelineId } = await makeCustom([
        { name: 'wait', command: `trap "${asked.step.command}" TERM; ${gate.command}`, idempotent: true },
      ])
      const id = await run(pipelineId)
      await gate.reached()
      return {
        async last() {
          await stage.cancel(id)
          await until('the step was asked to end', MAX_MS, async () => (await asked.times()) > 0)
        },
        async check() {
          await endedWith('FAILED_CANCELLED', id)
          assert.deepEqual([await gate.entered(), await gate.left()], [1, 0])
        },
      }
    },
  }
}
