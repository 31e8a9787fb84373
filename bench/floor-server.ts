// The floor of `ingest`: what anyone would write first. The same signature, the same parsing, one row per call,
// inserted and committed before the answer.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import pg from 'pg'
import { answerQuestions } from './child.ts'

export type FloorQuestion = { kind: 'open'; settings: pg.ClientConfig; secret: string } | { kind: 'cpu' }

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
  app.post('/floor', async (request, reply) => {
    const body = request.body as Buffer
    const expected = createHmac('sha256', secret).update(body).digest()
    const given = Buffer.from(String(request.headers['x-hub-signature-256']).slice('sha256='.length), 'hex')
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return reply.code(403).send({})
    const { ref } = JSON.parse(body.toString()) as { ref: string }
    const { rows } = await pool.query({
      name: 'floor',
      text: 'insert into floor (ref, body) values ($1, $2) returning id',
      values: [ref, body],
    })
    return reply.code(202).send({ id: rows[0].id })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: (app.server.address() as AddressInfo).port }
}

answerQuestions<FloorQuestion>(
  async (question) => {
    if (question.kind === 'open') return open(question.settings, question.secret)
    const { user, system } = process.cpuUsage()
    return { ms: (user + system) / 1_000 }
  },
  () => resources.disposeAsync(),
)
