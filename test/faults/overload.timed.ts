// More than Gantry can take: each call answered with 202 is stored once, every other gets a 503 that says when to come back,
// and memory stays bounded.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ownDatabase, urlAt } from '#test/support/called-gantry.ts'
import { testServer } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { until } from '#test/support/until.ts'
import {
  accepted,
  memoryStaysBounded,
  payloadOf,
  queryIn,
  send,
  sendMany,
  startBusy,
  storedOnce,
} from './overload.ts'

test('5,000 connections at once, and a database that stalls for 2 s during commits', async (t) => {
  const database = await ownDatabase(t)
  const proxy = await startSilentProxy(t, testServer())
  const gantry = await startBusy(t, urlAt(proxy.port, database))
  const crowd = await sendMany(gantry, 'crowd', 5_000)
  const ids = accepted(t, 'at once', crowd)
  assert.ok(ids.length > 0)

  const calls = sendMany(gantry, 'stalled', 200)
  // Some are being committed by now, and others wait for that.
  await pause(30)
  const resume = proxy.stall()
  // More than may wait in memory.
  const more = sendMany(gantry, 'waiting', 1_500, payloadOf(60_000))
  await pause(2_000)
  resume()
  const stalled = [...(await calls), ...(await more)]
  ids.push(...accepted(t, 'stalled', stalled))
  assert.ok(stalled.some((answer) => answer?.status === 503))
  assert.equal((await send(gantry, 'afterwards'))?.status, 202)
  const unanswered = [...crowd, ...stalled].filter((answer) => answer?.status !== 202).length
  await storedOnce((text) => queryIn(database, text), ids, unanswered + 1)
  await memoryStaysBounded(t, gantry)
})

test('slow writers and readers delay nobody, and their connections end', async (t) => {
  const database = await ownDatabase(t)
  const proxy = await startSilentProxy(t, testServer())
  const gantry = await startBusy(t, urlAt(proxy.port, database), { GANTRY_REQUEST_TIMEOUT_MS: '3000' })
  const { hostname, port, pathname } = gantry.url
  const open = (text: string): Socket => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(text)
    later(t, async () => void socket.destroy())
    return socket
  }
  const writers = Array.from({ length: 500 }, () =>
    open(
      `POST ${pathname} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{`,
    ),
  )
  const drip = setInterval(() => {
    for (const socket of writers) if (socket.writable) socket.write(' ')
  }, 250)
  later(t, async () => clearInterval(drip))
  const ends = writers.map((socket) => new Promise<void>((resolve) => socket.resume().once('close', resolve)))
  // They never read what comes.
  const readers = Array.from({ length: 500 }, () =>
    open('GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(3)).pause(),
  )
  await pause(500)
  const began = performance.now()
  const ids = accepted(t, 'meanwhile', await sendMany(gantry, 'quick', 200))
  t.diagnostic(`answered within ${Math.round(performance.now() - began)} ms`)
  assert.equal(ids.length, 200)
  await Promise.race([
    Promise.all(ends),
    pause(10_000, undefined, { ref: false }).then(() => assert.fail('slow writers are still connected')),
  ])
  assert.ok(readers.length > 0)
  await memoryStaysBounded(t, gantry)
})

test('the disk of the database is full: calls get 503, and 202 once there is space', async (t) => {
  let disk = ''
  const postgres = await openOwnPostgres(t, undefined, async (folder) => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512m', 'tmpfs', folder])
    later(t, async () => void execFileSync('umount', ['-l', folder]))
    disk = folder
  })
  const settings = { max_wal_size: '64MB', min_wal_size: '32MB', wal_recycle: 'off' }
  await postgres.start(settings)
  await postgres.query('create database gantry')
  const gantry = await startBusy(t, urlAt(postgres.port, 'gantry'))
  const first = await sendMany(gantry, 'first', 100)
  const ballast = join(disk, 'ballast')
  const free = Number(
    execFileSync('df', ['--output=avail', '-B1M', disk], { encoding: 'utf8' }).split('\n')[1],
  )
  await writeFile(ballast, Buffer.alloc((free - 4) * 2 ** 20))
  const answers = [...first]
  let refused = 0
  for (let round = 0; refused === 0 && round < 20; round += 1) {
    const some = await sendMany(gantry, `full-${round}`, 200)
    refused += some.filter((answer) => answer?.status === 503).length
    answers.push(...some)
  }
  assert.ok(refused > 0, 'the disk is full')
  await rm(ballast)
  // The server gives up when it cannot even write its log; an operator starts it again.
  if (!(await postgres.query('select').catch(() => null))) {
    await postgres.kill()
    await postgres.start(settings)
  }
  await until('accepted again', 20_000, async () => {
    const answer = await send(gantry, 'afterwards')
    return answer?.status === 202 || answer?.status === 200
  })
  const ids = accepted(t, 'full disk', answers)
  await storedOnce((text) => postgres.query(text, 'gantry'), ids, answers.length - ids.length + 1)
  await memoryStaysBounded(t, gantry)
})
