// The floor of `ingest`: the obvious implementation. The same signature, the same parsing, one row per call, inserted
// and committed before the response. And the upper bound: the same row with Gantry's group commit, without anything
// else that a call starts.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyRequest } from 'fastify'
import pg from 'pg'
import { byteas, texts } from '#platform/database/binary-arrays.ts'
import { answerQuestions } from './child.ts'

export type FloorQuestion = { kind: 'open'; settings: pg.ClientConfig; secret: string } | { kind: 'cpu' }

type Row = { ref: string; body: Buffer }
type StoreRow = (row: Row) => Promise<number>

const resources = new AsyncDisposableStack()

async function open(settings: pg.ClientConfig, secret: string): Promise<{ port: number }> {
  const pool = new pg.Pool({ ...settings, max: 10 })
  resources.defer(() => pool.end())
  await pool.query(
    'create table floor (id bigint generated always as identity primary key, ref text, body bytea)',
  )
  const app = Fastify()
  resources.defer(() => app.close())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const take = (path: string, store: StoreRow) =>
    app.post(path, async (request, reply) => {
      const row = readSigned(request, secret)
      return row ? reply.code(202).send({ id: await store(row) }) : reply.code(403).send({})
    })
  take('/floor', storeAlone(pool))
  take('/grouped', storeInGroups(pool))
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: (app.server.address() as AddressInfo).port }
}

function readSigned({ body, headers }: FastifyRequest, secret: string): Row | null {
  const bytes = body as Buffer
  const expected = createHmac('sha256', secret).update(bytes).digest()
  const given = Buffer.from(String(headers['x-hub-signature-256']).slice('sha256='.length), 'hex')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  const { ref } = JSON.parse(bytes.toString()) as { ref: string }
  return { ref, body: bytes }
}

function storeAlone(pool: pg.Pool): StoreRow {
  return async ({ ref, body }) => {
    const { rows } = await pool.query({
      name: 'floor',
      text: 'insert into floor (ref, body) values ($1, $2) returning id',
      values: [ref, body],
    })
    return rows[0].id
  }
}

function storeInGroups(pool: pg.Pool): StoreRow {
  let waiting: { row: Row; resolve: (id: number) => void }[] = []
  let isBusy = false

  async function flush(): Promise<void> {
    isBusy = true
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      const { rows } = await pool.query({
        name: 'grouped',
        text: 'insert into floor (ref, body) select * from unnest($1::text[], $2::bytea[]) returning id',
        values: [texts(group.map(({ row }) => row.ref)), byteas(group.map(({ row }) => row.body))],
      })
      group.forEach(({ resolve }, index) => {
        resolve(rows[index].id)
      })
    }
    isBusy = false
  }

  return (row) =>
    new Promise((resolve) => {
      waiting.push({ row, resolve })
      if (!isBusy) void flush()
    })
}

answerQuestions<FloorQuestion>(
  async (question) => {
    if (question.kind === 'open') return open(question.settings, question.secret)
    const { user, system } = process.cpuUsage()
    return { ms: (user + system) / 1_000 }
  },
  () => resources.disposeAsync(),
)
