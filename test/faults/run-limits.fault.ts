// Concurrency limits with two workers, and what a step cannot do: stay, flood, refuse to end.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { deployWith } from '#test/support/inventory.ts'
import { later } from '#test/support/later.ts'
import { processesAt } from '#test/support/processes-at.ts'
import { liveRelease, releasesIn } from '#test/support/releases.ts'
import { makeRepository, type TestRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const all = { after }
/** Before the workers: commands do not see what is mounted after them. Null: only root can mount. */
const [smallDisk, fullDisk] =
  process.getuid!() === 0 ? [await mountDisk(110), await mountDisk(110)] : [null, null]

const world = await openRunWorld(all, { roles: ['api', 'worker', 'worker'] })
const { makeCustom, makeDeployable, makeHook, fire, run, completed, endedWith, logOf, db } = world

suite('limits', { concurrency: true }, () => {
  suite('concurrency', () => {
    const RUNS = 50
    const PIPELINE_LIMIT = 3

    test('fifty runs never exceed the limits of their pipeline and servers, and run in order', async () => {
      const servers = [world.newLocalServer(), world.newLocalServer()].map((server, index) => ({
        ...server,
        name: `web-${index + 1}`,
        max_parallel_actions: 1,
      }))
      const gate = world.makeGate('fifty')
      const busy = join(world.notes, 'busy')
      // A step that finds another one on the same server fails.
      const alone = `mkdir "${busy}-$GANTRY_SERVER" && sleep 0.0$((RANDOM % 5)) && rmdir "${busy}-$GANTRY_SERVER"`
      const shop = await makeDeployable({
        repository: 'file:///nowhere',
        servers,
        steps: [{ name: 'alone', command: `set -e; ${alone}; ${gate.command}` }],
        pipeline: { operation: 'configure', max_parallel_actions: PIPELINE_LIMIT },
      })
      const hook = await makeHook(shop.pipelineId)
      const ids: number[] = []
      // Concurrent calls may be stored in any order; these are the first in any case.
      for (let n = 0; n < PIPELINE_LIMIT; n += 1) ids.push(await fire(hook))
      ids.push(...(await Promise.all(Array.from({ length: RUNS - PIPELINE_LIMIT }, () => fire(hook)))))
      ids.sort((one, other) => one - other)
      await gate.reached(2)
      await until('everybody waits', 30_000, async () => {
        const { rows } = await sql<{ waiting: number }>`
        select count(*) as waiting from actions
        where pipeline_id = ${shop.pipelineId} and status = 'waiting'`.execute(db)
        return rows[0]!.waiting === RUNS - 1
      })
      await gate.open()
      for (const id of ids) await completed(id)

      const running = new Set<number>()
      const started: number[] = []
      for (const event of await eventsOf(shop.pipelineId)) {
        if (event.status !== 'in-progress') running.delete(event.action_id)
        else if (!running.has(event.action_id)) started.push(running.add(event.action_id) && event.action_id)
        assert.ok(running.size <= PIPELINE_LIMIT, `${[...running]} run together`)
      }
      assert.deepEqual(started, ids, 'they started in their order')

      for (const serverId of shop.serverIds) {
        const slotted = new Set<number>()
        const order: number[] = []
        for (const move of await movesOn(serverId)) {
          if (move.status === 'queued' || move.status === 'in-progress') slotted.add(move.action_id)
          else slotted.delete(move.action_id)
          if (move.status === 'in-progress') order.push(move.action_id)
          assert.ok(slotted.size <= 1, `${[...slotted]} have a slot on server ${serverId}`)
        }
        assert.deepEqual(order, ids, 'every server took them in their order')
      }
    })

    async function eventsOf(pipelineId: number) {
      const { rows } = await sql<{ action_id: number; status: string }>`
      select e.action_id, e.status from events e join actions a on a.id = e.action_id
      where a.pipeline_id = ${pipelineId} order by e.id`.execute(db)
      return rows
    }

    async function movesOn(serverId: number) {
      const { rows } = await sql<{ action_id: number; status: string }>`
      select t.action_id, m.status from target_moves m join targets t on t.id = m.target_id
      where t.server_id = ${serverId} and m.step_order is null order by m.id`.execute(db)
      return rows
    }
  })

  suite('a step', { concurrency: true }, () => {
    const TERM_IS_IGNORED = `trap '' TERM; ( trap '' TERM; while :; do sleep 1; done ) &`

    test('that ignores SIGTERM is killed when its run is cancelled', async () => {
      const gate = world.makeGate('stubborn')
      const { pipelineId } = await makeCustom([
        { name: 'stubborn', command: `exec 8>>'${gate.held}'; ${TERM_IS_IGNORED} ${gate.command}` },
        { name: 'never', command: `touch ${world.notes}/never` },
      ])
      const id = await run(pipelineId)
      await gate.reached()
      await world.cancel(id)
      const action = await endedWith('FAILED_CANCELLED', id)
      const reasons = action.targets[0].steps.map(
        (step: { status_reason_code: string }) => step.status_reason_code,
      )
      assert.deepEqual(reasons, ['FAILED_CANCELLED', 'SKIPPED'])
      assert.match(await logOf(id, 'stubborn'), /Cancelled\.\n$/)
      assert.equal(await gate.left(), 0)
      assert.deepEqual(processesAt([gate.held]), [])
    })

    test('that times out is ended, with all its processes', async () => {
      const gate = world.makeGate('slow')
      const command = `exec 8>>'${gate.held}'; setsid sleep 1000 & disown; ${gate.command}`
      const { pipelineId } = await makeCustom([{ name: 'slow', command, timeout_seconds: 1 }])
      const action = await endedWith('FAILED_TIMEOUT', await run(pipelineId))
      assert.match(await logOf(action.id, 'slow'), /Timed out after 1 s/)
      assert.deepEqual(processesAt([gate.held]), [])
    })

    const limitNewRelease = (pipelineId: number, timeout_seconds: number) =>
      world.db
        .updateTable('pipeline_steps')
        .set({ timeout_seconds })
        .where('pipeline_id', '=', pipelineId)
        .where('name', '=', 'get-new-release')
        .execute()

    test('that is built in and waits for a repository times out', async (t) => {
      const repository = await makeRepository(t, { files: { a: 'a' } })
      const silence = () => new Promise<boolean>(() => {})
      const host = await serveGit(t, { folder: dirname(repository.folder), before: silence })
      const shop = await makeDeployable({ repository: `${host.url}/shop.git` })
      await limitNewRelease(shop.pipelineId, 1)
      const action = await endedWith('FAILED_TIMEOUT', await run(shop.pipelineId))
      assert.match(await logOf(action.id, 'get-new-release'), /Fetching .*\nTimed out after 1 s/)
    })

    test('that is built in has one timeout for everything it does', async (t) => {
      const repository = await makeRepository(t, { files: { a: 'a' } })
      const late = () => pause(2_000, false)
      const host = await serveGit(t, { folder: dirname(repository.folder), before: late })
      const gate = world.makeGate('one-limit')
      const shop = await makeDeployable({
        repository: `${host.url}/shop.git`,
        steps: deployWith({ 'check-app-environment': { name: 'wait', command: gate.command } }),
      })
      await limitNewRelease(shop.pipelineId, 3)
      const id = await run(shop.pipelineId)
      await gate.reached()
      // Two seconds for the lock on the server and two for the first answer of the host: each alone is in time.
      const holder = spawn('flock', [join(shop.bases[0]!, '.gantry/lock'), '-c', 'echo held; sleep 2'])
      later(t, () => holder.kill())
      await once(holder.stdout, 'data')
      await gate.open()
      await endedWith('FAILED_TIMEOUT', id)
      assert.match(await logOf(id, 'get-new-release'), /Timed out after 3 s/)
      assert.equal(await liveRelease(shop.bases[0]!), null)
    })

    test('leaves no daemon behind, however it detaches', async () => {
      const held = join(world.notes, 'daemon.held')
      const daemon = `( setsid bash -c 'exec > /dev/null 2>&1 < /dev/null; sleep 1000 & sleep 1001' & )`
      const { pipelineId } = await makeCustom([
        { name: 'fork', command: `exec 8>>'${held}'; ${daemon}; nohup sleep 1002 & disown; echo forked` },
      ])
      const action = await completed(await run(pipelineId))
      assert.match(await logOf(action.id, 'fork'), /forked\n/)
      assert.deepEqual(processesAt([held]), [])
    })

    test('that prints 50 MB keeps the first and the last 5 MiB', async () => {
      const command = 'echo the start; yes "a line of some length" | head -c 52428800; echo the end'
      const { pipelineId } = await makeCustom([{ name: 'flood', command }])
      const action = await completed(await run(pipelineId))
      const log = await logOf(action.id, 'flood')
      assert.ok(log.startsWith('the start\na line') && log.endsWith('the end\n'))
      const kept = Buffer.byteLength(log)
      // Each end is kept in whole chunks of up to 64 KiB.
      assert.ok(Math.abs(kept - 10 * 2 ** 20) < 2 * 64 * 1024, `${kept} bytes`)
    })

    test('that closes its output still ends with its own exit code', async () => {
      const command = 'echo before; exec >&- 2>&- 0<&-; sleep 0.3; exit 7'
      const { pipelineId } = await makeCustom([{ name: 'mute', command }])
      const action = await endedWith('FAILED', await run(pipelineId))
      assert.match(await logOf(action.id, 'mute'), /^before\nThe command exited with code 7\.\n$/)
    })

    test('that is killed by the system logs the signal', async () => {
      const { pipelineId } = await makeCustom([{ name: 'shot', command: 'kill -KILL $$' }])
      const action = await endedWith('FAILED', await run(pipelineId))
      assert.match(await logOf(action.id, 'shot'), /killed by SIGKILL/)
    })

    test('that runs out of space fails, and the previous release stays live', async (t) => {
      const repository = await makeRepository(t, { files: { a: 'a' } })
      const command = `[ ! -e '${world.notes}/full' ] || { ulimit -f 1; head -c 100000 /dev/zero > big; }`
      const shop = await makeDeployable({
        repository: repository.address,
        steps: deployWith({ 'get-new-release': { name: 'write', command } }),
      })
      const first = await completed(await run(shop.pipelineId))
      await mkdir(join(world.notes, 'full'))
      const second = await endedWith('FAILED', await run(shop.pipelineId))
      assert.match(await logOf(second.id, 'write'), /File size limit exceeded|killed by SIGXFSZ/)
      assert.equal(await liveRelease(shop.bases[0]!), first.action_data.release_name)
    })
  })

  // Mounting requires root; the test above covers a full disk without it.
  const underRoot = smallDisk === null ? () => {} : test
  underRoot(
    'a disk that becomes full while a release is unpacked leaves the live one, and nothing half-made',
    async (t) => {
      const repository = await makeRepository(t, { files: { small: 'small' } })
      const server = { ...world.newLocalServer(), root_directory: smallDisk! }
      const shop = await makeDeployable({ repository: repository.address, servers: [server] })
      const [base] = shop.bases as [string]
      const first = await completed(await run(shop.pipelineId))
      await repository.branch('large', await commitOfMebibytes(repository, 120))
      const second = await endedWith('FAILED', await run(shop.pipelineId, { source_ref: 'large' }))
      assert.match(
        await logOf(second.id, 'get-new-release'),
        /No space left on device\n(.*\n)*The source could not/,
      )
      assert.equal(await liveRelease(base), first.action_data.release_name)
      assert.deepEqual(await releasesIn(base), [first.action_data.release_name])

      execFileSync('dd', [
        'if=/dev/zero',
        `of=${join(smallDisk!, 'ballast')}`,
        'bs=1M',
        'count=50',
        'status=none',
      ])
      const third = await endedWith('FAILED', await run(shop.pipelineId))
      assert.match(await logOf(third.id, 'check-app-environment'), /Only \d+ MiB are free .* free some space/)
    },
  )

  underRoot('a rollback on a full disk switches, and demands space only where it has to fetch', async (t) => {
    const disk = fullDisk!
    const repository = await makeRepository(t, { files: { n: '1' } })
    const server = { ...world.newLocalServer(), root_directory: disk }
    const shop = await makeDeployable({ repository: repository.address, servers: [server] })
    const [base] = shop.bases as [string]
    const first = await completed(await run(shop.pipelineId))
    await repository.commit({ n: '2' })
    const second = await completed(await run(shop.pipelineId))
    const fill = ['if=/dev/zero', `of=${join(disk, 'ballast')}`, 'bs=64k']
    assert.throws(() => execFileSync('dd', fill, { stdio: 'ignore' }))
    await completed(await run(shop.pipelineId, { type: 'rollback', rollback_from: second.id }))
    assert.equal(await liveRelease(base), first.action_data.release_name)

    const { release_name } = second.action_data
    await rm(join(base, 'releases', release_name), { recursive: true })
    const third = await endedWith('FAILED', await run(shop.pipelineId, { type: 'rollback', release_name }))
    assert.match(await logOf(third.id, 'check-app-environment'), /^Free disk space: 0 MiB$/m)
    assert.match(
      await logOf(third.id, 'get-new-release'),
      /is no longer on the server: building it again\.\n.*\nOnly 0 MiB are free .* free some space/,
    )
    assert.equal(await liveRelease(base), first.action_data.release_name)
  })
})

test('no process is left running', () => world.nothingRuns())

async function mountDisk(mebibytes: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0777`, 'tmpfs', folder])
  later(all, async () => {
    execFileSync('umount', ['-l', folder])
    await rm(folder, { recursive: true })
  })
  return folder
}

/** Many names for one megabyte: little to store, and much to unpack. */
async function commitOfMebibytes({ git }: TestRepository, count: number): Promise<string> {
  const blob = await git(['hash-object', '-w', '--stdin'], Buffer.alloc(2 ** 20))
  const entries = Array.from({ length: count }, (_, n) => `100644 blob ${blob}\tfile-${n}\n`)
  return git(['commit-tree', '-m', 'Large', await git(['mktree'], entries.join(''))])
}
