// Reads event streams as a browser does, and simulates runs to stream.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { storeChunk } from '#engine/step-logs/store-chunk.ts'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import { isEnd } from '#model/actions/status.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import type { TestApp } from './harness.ts'
import { createAction, type TestTree } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape
export type Received = { type: string; id: string; data: any }

export type TestStream = {
  status: number
  headers: Headers
  /** Everything that was received, in order. */
  events: Received[]
  comments(): number
  /** What a browser would send as Last-Event-ID. */
  lastId(): string
  until(holds: (events: Received[]) => unknown): Promise<void>
  /** Like a lost connection; resolves when nothing more comes. */
  cut(): Promise<void>
  /** Whether the server ended it cleanly, or the connection was cut. */
  over: Promise<'ended' | 'cut'>
}

const PATIENCE_MS = 20_000

/** Listens on a free port. */
export async function listen({ app }: TestApp): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

export async function openStream(
  url: string,
  token: string,
  more: { lastEventId?: string; accept?: string } = {},
): Promise<TestStream> {
  const controller = new AbortController()
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    accept: more.accept ?? 'text/event-stream',
  }
  if (more.lastEventId !== undefined) headers['last-event-id'] = more.lastEventId
  const response = await fetch(url, { headers, signal: controller.signal })
  const reader = createReader(more.lastEventId ?? '')
  const notices = new Set<() => void>()
  const over = (async () => {
    try {
      for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        reader.read(text)
        for (const notice of notices) notice()
      }
      return 'ended'
    } catch {
      return 'cut'
    } finally {
      for (const notice of notices) notice()
    }
  })()
  const isOver = over.then(() => true)

  return {
    status: response.status,
    headers: response.headers,
    events: reader.events,
    comments: () => reader.comments,
    lastId: () => reader.lastId,
    over,
    async until(holds) {
      const deadline = AbortSignal.timeout(PATIENCE_MS)
      while (!holds(reader.events)) {
        const noticed = Promise.withResolvers<boolean>()
        const notice = () => noticed.resolve(false)
        notices.add(notice)
        deadline.addEventListener('abort', notice)
        const wasOver = await Promise.race([noticed.promise, isOver])
        notices.delete(notice)
        deadline.removeEventListener('abort', notice)
        if (holds(reader.events)) return
        const last = JSON.stringify(reader.events.slice(-3))
        assert.ok(!wasOver, `the stream ended early, after ${reader.events.length} events: ${last}`)
        assert.ok(!deadline.aborted, `timed out after ${reader.events.length} events: ${last}`)
      }
    },
    async cut() {
      controller.abort()
      await over
    },
  }
}

/** Follows https://html.spec.whatwg.org/multipage/server-sent-events.html, as far as needed. */
export function createReader(lastId = '') {
  let rest = ''
  let block: { type: string; data: string[] } = { type: 'message', data: [] }
  const state = {
    events: [] as Received[],
    comments: 0,
    lastId,
    retry: undefined as number | undefined,
    read(text: string): void {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) readLine(line)
    },
  }
  let id = lastId

  function readLine(line: string): void {
    if (line === '') dispatch()
    if (line.startsWith(':')) state.comments++
    const [, field, value] = /^(\w+): (.*)$/.exec(line) ?? []
    if (field === 'event') block.type = value!
    if (field === 'data') block.data.push(value!)
    if (field === 'id') id = value!
    if (field === 'retry') state.retry = Number(value)
  }

  function dispatch(): void {
    state.lastId = id
    if (block.data.length > 0) {
      assert.equal(block.data.length, 1, 'data is one line')
      state.events.push({ type: block.type, id, data: JSON.parse(block.data[0]!) })
    }
    block = { type: 'message', data: [] }
  }

  return state
}

const REASONS: Record<Status, ReasonCode> = {
  pending: 'PENDING',
  waiting: 'WAITING_CONCURRENCY_PIPELINE',
  queued: 'QUEUED',
  'in-progress': 'IN_PROGRESS',
  completed: 'COMPLETED',
  failed: 'FAILED',
  skipped: 'SKIPPED',
}

/** A simulated run. It notifies as a real one does: in the transaction of the move. */
export type TestRun = {
  actionId: number
  targetIds: number[]
  /** Of the action. */
  move(to: Status, db?: Database): Promise<void>
  moveTarget(target: number, to: Status, db?: Database): Promise<void>
  moveStep(target: number, order: number, to: Status, db?: Database): Promise<void>
  print(target: number, order: number, text: string): Promise<void>
}

export async function createRun(
  db: Database,
  tree: Pick<TestTree, 'environmentId' | 'pipelineId' | 'serverIds'>,
): Promise<TestRun> {
  const queued = {
    status: 'queued',
    status_reason_code: 'QUEUED',
    started_at: null,
    completed_at: null,
  } as const
  const pending = { ...queued, status: 'pending', status_reason_code: 'PENDING', attempt: 1 } as const
  const actionId = await createAction(db, tree, queued, pending)
  const targets = await db
    .selectFrom('targets')
    .select('id')
    .where('action_id', '=', actionId)
    .orderBy('position')
    .execute()
  const targetIds = targets.map(({ id }) => id)
  await sql`insert into events (action_id, status, status_reason_code) values (${actionId}, 'queued', 'QUEUED')`.execute(
    db,
  )
  await announce(db)
  const ends = new Map<string, number>()

  async function announce(trx: Database): Promise<void> {
    await sql`select pg_notify(${ACTIONS_CHANNEL}, ${`move ${actionId}`})`.execute(trx)
  }

  function inTransaction(given: Database | undefined, work: (trx: Database) => Promise<void>): Promise<void> {
    return given ? work(given) : db.transaction().execute(work)
  }

  function changeOf(to: Status) {
    const isOver = isEnd(to)
    return sql`status = ${to}, status_reason_code = ${REASONS[to]}, completed_at = ${isOver ? sql`now()` : null},
      started_at = case when ${to} = 'in-progress' then coalesce(started_at, now())
        when ${to} = 'completed' then started_at when ${to} = 'failed' then started_at end`
  }

  return {
    actionId,
    targetIds,
    move: (to, given) =>
      inTransaction(given, async (trx) => {
        await sql`
          with before as (select status from actions where id = ${actionId} for update),
          moved as (update actions set ${changeOf(to)} where id = ${actionId} returning id)
          insert into events (action_id, previous_status, status, status_reason_code)
          select moved.id, before.status, ${to}, ${REASONS[to]} from before, moved`.execute(trx)
        await announce(trx)
      }),
    moveTarget: (target, to, given) =>
      inTransaction(given, async (trx) => {
        await sql`
          with before as (select status from targets where id = ${targetIds[target]!} for update),
          moved as (update targets set ${changeOf(to)} where id = ${targetIds[target]!} returning id)
          insert into target_moves (target_id, previous_status, status, status_reason_code)
          select moved.id, before.status, ${to}, ${REASONS[to]} from before, moved`.execute(trx)
        await announce(trx)
      }),
    moveStep: (target, order, to, given) =>
      inTransaction(given, async (trx) => {
        await sql`select id from targets where id = ${targetIds[target]!} for update`.execute(trx)
        const previous = to === 'in-progress' ? 'pending' : 'in-progress'
        await sql`
          insert into target_moves (target_id, step_order, previous_status, status, status_reason_code)
          values (${targetIds[target]!}, ${order}, ${previous}, ${to}, ${REASONS[to]})`.execute(trx)
        await announce(trx)
      }),
    async print(target, order, text) {
      const log = { targetId: targetIds[target]!, stepOrder: order, attempt: 1 }
      const key = `${target} ${order}`
      const startOffset = ends.get(key) ?? 0
      const bytes = Buffer.byteLength(text)
      ends.set(key, startOffset + bytes)
      assert.deepEqual(await storeChunk(db, log, { startOffset, text, bytes }), { kind: 'stored' })
    },
  }
}

/** The events of a stream without their ids: equal for any two ways to the same position. */
export function tale(events: readonly Received[]): unknown[] {
  return events.map(({ type, data }) => [type, data])
}

/** The concatenated logs of a stream; fails when a piece is missing or repeated. */
export function logsIn(
  events: readonly Received[],
  known: Record<string, string> = {},
): Record<string, string> {
  const logs = { ...known }
  const ends = new Map(Object.entries(logs).map(([key, text]) => [key, Buffer.byteLength(text)]))
  for (const { type, data } of events) {
    if (type !== 'log') continue
    const key = `${data.target_id} ${data.step_order}`
    const from = data.offset - data.omitted_bytes
    assert.equal(from, ends.get(key) ?? 0, `the log ${key} continues where it ended`)
    ends.set(key, data.offset + Buffer.byteLength(data.text))
    logs[key] = (logs[key] ?? '') + data.text
  }
  return logs
}
