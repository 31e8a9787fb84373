// Step output: from the writer into the database, and out of the API.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { createLogWriter, type LogChunk } from '#engine/step-logs/log-writer.ts'
import { endOfLog, type LogOwner, storeChunk } from '#engine/step-logs/store-chunk.ts'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import { openListener } from '#platform/database/listen.ts'
import { createMaskers } from '#platform/masking/mask-stream.ts'
import { openTestApp } from '#test/support/harness.ts'
import { untilLockWait } from '#test/support/until.ts'
import { createAction, createMember, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const { db, settings, request, statements } = await openTestApp({ after })
const tree = await createTestTree(db)

const notifications: string[] = []
const arrivals = new EventEmitter()
const listener = await openListener(settings, { onError: () => {} })
await listener.subscribe(ACTIONS_CHANNEL, {
  onNotify: (payload) => {
    notifications.push(payload)
    arrivals.emit(payload)
  },
})
after(() => listener.close())

/** The log of the first step of the first target of a new action, held by attempt 1. */
async function createLog() {
  const actionId = await createAction(db, tree, {}, { attempt: 1 })
  const { id: targetId } = await db
    .selectFrom('targets')
    .select('id')
    .where('action_id', '=', actionId)
    .orderBy('position')
    .limit(1)
    .executeTakeFirstOrThrow()
  const log: LogOwner = { targetId, stepOrder: 1, attempt: 1 }
  const url = `/actions/${actionId}/targets/${targetId}/steps/1/logs`
  return { actionId, targetId, log, url }
}

function chunkAt(startOffset: number, text: string): LogChunk {
  return { startOffset, text, bytes: Buffer.byteLength(text) }
}

async function fill(log: LogOwner, texts: readonly string[]): Promise<void> {
  let offset = 0
  for (const text of texts) {
    assert.deepEqual(await storeChunk(db, log, chunkAt(offset, text)), { kind: 'stored' })
    offset += Buffer.byteLength(text)
  }
}

function chunksOf({ targetId }: { targetId: number }) {
  return db.selectFrom('step_log_chunks').selectAll().where('target_id', '=', targetId).execute()
}

const reassign = (targetId: number) =>
  db.updateTable('targets').set({ attempt: 2 }).where('id', '=', targetId).execute()

/** Notifications arrive in order: once this one is here, all earlier ones are. */
async function notificationsAbout(prefix: string): Promise<string[]> {
  const mark = `mark ${Math.random()}`
  const arrived = once(arrivals, mark)
  await sql`select pg_notify(${ACTIONS_CHANNEL}, ${mark})`.execute(db)
  await arrived
  return notifications.filter((payload) => payload.startsWith(prefix))
}

suite('storing', () => {
  test('a chunk is stored, and notified with its end offset', async () => {
    const { actionId, targetId, log } = await createLog()
    await fill(log, ['one\n', 'zwölf\n'])
    const rows = await chunksOf(log)
    assert.deepEqual(
      rows.map((row) => [row.step_order, row.start_offset, row.attempt, row.text, row.bytes]),
      [
        [1, 0, 1, 'one\n', 4],
        [1, 4, 1, 'zwölf\n', 7],
      ],
    )
    const about = `log ${actionId} ${targetId} 1 `
    assert.deepEqual(await notificationsAbout(about), [`${about}4`, `${about}11`])
    assert.equal((await endOfLog(db, log)).offset, 11)
  })

  test('a chunk of an attempt that has lost its target is rejected without a notification', async () => {
    const { actionId, targetId, log } = await createLog()
    await reassign(targetId)
    assert.deepEqual(await storeChunk(db, log, chunkAt(0, 'late')), { kind: 'refused' })
    assert.deepEqual(await storeChunk(db, { ...log, targetId: 999_999 }, chunkAt(0, 'x')), {
      kind: 'refused',
    })
    assert.deepEqual(await chunksOf(log), [])
    assert.deepEqual(await notificationsAbout(`log ${actionId} `), [])
    assert.equal((await endOfLog(db, log)).offset, 0)
  })

  test('a chunk waits for a new attempt in progress, and is then rejected', async () => {
    const { targetId, log } = await createLog()
    const { outcome } = await db.transaction().execute(async (trx) => {
      await trx.updateTable('targets').set({ attempt: 2 }).where('id', '=', targetId).execute()
      const outcome = storeChunk(db, log, chunkAt(0, 'late'))
      await untilLockWait(db)
      return { outcome }
    })
    assert.deepEqual(await outcome, { kind: 'refused' })
  })

  test('a new attempt waits for a chunk in flight, and then finds it', async () => {
    const { targetId, log } = await createLog()
    const { taken } = await db.transaction().execute(async (trx) => {
      await storeChunk(trx, log, chunkAt(0, 'in time'))
      const taken = reassign(targetId).then(() => endOfLog(db, log))
      await untilLockWait(db)
      return { taken }
    })
    assert.deepEqual(await taken, { offset: 7, isLineOpen: true })
  })

  test('storing a chunk again changes nothing; another chunk at its offset is an error', async () => {
    const { log } = await createLog()
    await fill(log, ['one'])
    assert.deepEqual(await storeChunk(db, log, chunkAt(0, 'one')), { kind: 'stored' })
    assert.equal((await chunksOf(log)).length, 1)
    await assert.rejects(storeChunk(db, log, chunkAt(0, 'two')), /has another chunk at 0/)
    await reassign(log.targetId)
    await assert.rejects(storeChunk(db, { ...log, attempt: 2 }, chunkAt(0, 'one')), /has another chunk/)
  })

  test('a transaction that rolls back notifies nobody', async () => {
    const { actionId, log } = await createLog()
    await db
      .transaction()
      .execute(async (trx) => {
        await storeChunk(trx, log, chunkAt(0, 'x'))
        throw new Error('taken back')
      })
      .catch(() => {})
    assert.deepEqual(await notificationsAbout(`log ${actionId} `), [])
  })

  test('any bytes that a command prints can be stored and read back', async () => {
    const { log, url } = await createLog()
    const texts: string[] = []
    const writer = createLogWriter({
      newMasker: createMaskers(['hunter2']),
      store: async (chunk) => {
        texts.push(chunk.text)
        await storeChunk(db, log, chunk)
      },
    })
    const bytes = Buffer.from(Array.from({ length: 65_536 }, (_, index) => [index >> 8, index & 0xff]).flat())
    await writer.write(bytes)
    await writer.write(Buffer.from('\ud800 "\\ \u2028 hunter2\r\n'))
    await writer.close()
    const { body, headers } = await request('GET', url, { token: tree.owner.token })
    assert.equal(body.step.output, texts.join(''))
    assert.ok(body.step.output.endsWith('� "\\ \u2028 ********\n'))
    assert.equal(headers['x-gantry-log-offset'], String(Buffer.byteLength(body.step.output)))
  })
})

suite('reading', () => {
  const { token } = tree.owner

  test('a log comes with its step, its target and the time of the last change', async () => {
    const { actionId, targetId, log, url } = await createLog()
    await fill(log, ['one\n', '\x1b[31mtwo\x1b[0m\n'])
    const { status, body, headers } = await request('GET', url, { token })
    assert.equal(status, 200)
    const action = await request('GET', `/actions/${actionId}`, { token })
    const target = action.body.targets[0]
    assert.deepEqual(body.target, target)
    assert.equal(body.target.id, targetId)
    const { started_at, completed_at } = target.steps[0]
    assert.deepEqual(body.step, {
      order: 1,
      started_at,
      completed_at,
      output: 'one\n\x1b[31mtwo\x1b[0m\n',
      gaps: [],
    })
    const rows = await chunksOf(log)
    assert.equal(body.updated_at, rows.at(-1)!.created_at)
    assert.equal(headers['x-gantry-log-offset'], '17')
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    assert.deepEqual(Object.keys(body), ['step', 'target', 'updated_at'])
  })

  test('a step without output has an empty log, dated by its last move', async () => {
    const { url } = await createLog()
    const { body, headers } = await request('GET', url, { token })
    assert.equal(body.step.output, '')
    assert.equal(body.updated_at, body.target.steps[0].updated_at)
    assert.equal(headers['x-gantry-log-offset'], '0')
  })

  test('reading after an offset starts at a character boundary', async () => {
    const { log, url } = await createLog()
    await fill(log, ['añ', '🙂z', 'end'])
    const rests = {
      0: 'añ🙂zend',
      1: 'ñ🙂zend',
      2: 'ñ🙂zend',
      3: '🙂zend',
      5: '🙂zend',
      6: '🙂zend',
      7: 'zend',
      8: 'end',
      10: 'd',
      11: '',
      12: '',
      9007199254740991: '',
    }
    for (const [offset, rest] of Object.entries(rests)) {
      const { body, headers } = await request('GET', `${url}?after=${offset}`, { token })
      assert.equal(body.step.output, rest, offset)
      assert.equal(headers['x-gantry-log-offset'], '11')
    }
  })

  test('following a log returns every byte once', async () => {
    const { log, url } = await createLog()
    const texts = Array.from({ length: 20 }, (_, index) => `Zeile ${index} 🙂\n`)
    let [output, offset, after] = ['', 0, '0']
    for (const text of texts) {
      await storeChunk(db, log, chunkAt(offset, text))
      offset += Buffer.byteLength(text)
      const { body, headers } = await request('GET', `${url}?after=${after}`, { token })
      output += body.step.output
      after = headers['x-gantry-log-offset']!
    }
    assert.equal(output, texts.join(''))
  })

  test('logs of other steps and targets are not mixed in', async () => {
    const { targetId, log, url } = await createLog()
    const other = await createLog()
    await fill(log, ['first'])
    await fill({ ...log, stepOrder: 2 }, ['second'])
    await fill(other.log, ['other'])
    assert.equal((await request('GET', url, { token })).body.step.output, 'first')
    const second = await request('GET', url.replace('steps/1', 'steps/2'), { token })
    assert.deepEqual([second.body.step.order, second.body.step.output], [2, 'second'])
    assert.equal(second.body.target.id, targetId)
  })

  test('ten megabytes are read page by page', async () => {
    const { log, url } = await createLog()
    const line = '"quoted" \\ and größer, 🙂\n'
    const text = line.repeat(Math.ceil(65_000 / Buffer.byteLength(line)))
    const count = Math.ceil((10 * 2 ** 20) / Buffer.byteLength(text))
    await sql`insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes)
      select ${log.targetId}, 1, number * ${Buffer.byteLength(text)}::bigint, 1, ${text}, ${Buffer.byteLength(text)}::int
      from generate_series(0, ${count - 1}::int) as number`.execute(db)
    statements.length = 0
    const { body, headers } = await request('GET', url, { token })
    assert.ok(body.step.output === text.repeat(count))
    assert.equal(headers['x-gantry-log-offset'], String(count * Buffer.byteLength(text)))
    assert.ok(statements.filter((statement) => statement.includes('step_log_chunks')).length > 30)
    const after = count * Buffer.byteLength(text) - Buffer.byteLength(line)
    assert.equal((await request('GET', `${url}?after=${after}`, { token })).body.step.output, line)
  })

  test('what is omitted from a log is named, wherever reading starts', async () => {
    const { log, url } = await createLog()
    await fill(log, ['first\n'])
    for (const start of [100, 105]) await storeChunk(db, log, chunkAt(start, 'tail\n'))
    const read = async (after: number) => {
      const { body, headers } = await request('GET', `${url}?after=${after}`, { token })
      assert.equal(headers['x-gantry-log-offset'], '110')
      return [body.step.output, body.step.gaps]
    }
    assert.deepEqual(await read(0), ['first\ntail\ntail\n', [{ offset: 6, omitted_bytes: 94 }]])
    assert.deepEqual(await read(6), ['tail\ntail\n', [{ offset: 6, omitted_bytes: 94 }]])
    assert.deepEqual(await read(50), ['tail\ntail\n', [{ offset: 50, omitted_bytes: 50 }]])
    assert.deepEqual(await read(102), ['il\ntail\n', []])
    assert.deepEqual(await read(110), ['', []])
    // The step prints on: the middle moves.
    const omit = { from: 50, upTo: 105 }
    await storeChunk(db, log, { ...chunkAt(110, 'end\n'), omit })
    const { body } = await request('GET', url, { token })
    assert.deepEqual(
      [body.step.output, body.step.gaps],
      ['first\ntail\nend\n', [{ offset: 6, omitted_bytes: 99 }]],
    )
  })

  test('a missing log is 404, an invalid URL 422', async () => {
    const { actionId, targetId, url } = await createLog()
    const other = await createLog()
    const wrong = {
      404: [
        `/actions/999999/targets/${targetId}/steps/1/logs`,
        `/actions/${actionId}/targets/999999/steps/1/logs`,
        `/actions/${actionId}/targets/${other.targetId}/steps/1/logs`,
        `/actions/${actionId}/targets/${targetId}/steps/99/logs`,
        `/actions/${actionId}/targets/${targetId}/steps/9007199254740991/logs`,
      ],
      422: [
        `/actions/0/targets/${targetId}/steps/1/logs`,
        `/actions/${actionId}/targets/x/steps/1/logs`,
        `/actions/${actionId}/targets/${targetId}/steps/0/logs`,
        `/actions/${actionId}/targets/${targetId}/steps/-1/logs`,
        `/actions/${actionId}/targets/${targetId}/steps/9007199254740992/logs`,
        `${url}?after=-1`,
        `${url}?after=x`,
        `${url}?after=1.5`,
        `${url}?after=9007199254740992`,
        `${url}?before=1`,
      ],
    }
    for (const [status, urls] of Object.entries(wrong)) {
      for (const one of urls) assert.equal((await request('GET', one, { token })).status, Number(status), one)
    }
  })

  test('reading requires action:view in the environment of the action', async () => {
    const { url } = await createLog()
    const statusFor = async (token?: string) => (await request('GET', url, { token })).status
    assert.equal(await statusFor((await createMember(db, tree, 'viewer')).token), 200)
    assert.equal(await statusFor(), 401)
    assert.equal(await statusFor((await createPerson(db)).token), 404)
    assert.equal(await statusFor((await createTestTree(db)).owner.token), 404)
    const { organizationId, projectId, environmentId } = tree
    const guest = await createPerson(db)
    await grantRole(db, guest.id, 'viewer', { organizationId, projectId, environmentId })
    assert.equal(await statusFor(guest.token), 200)
  })

  test('HEAD returns the offset without the log', async () => {
    const { log, url } = await createLog()
    await fill(log, ['one\n'])
    const { status, headers, text } = await request('HEAD', url, { token })
    assert.deepEqual([status, headers['x-gantry-log-offset'], text], [200, '4', ''])
  })
})
