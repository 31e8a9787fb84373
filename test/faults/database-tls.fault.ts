// What sslmode in DATABASE_URL means, against a server with a certificate of a private authority.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chown } from 'node:fs/promises'
import { test } from 'node:test'
import { startCalled } from '#test/support/called-gantry.ts'
import { makeCertificates } from '#test/support/certificates.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'
import { startGantry, temporaryHome } from '#test/support/process.ts'

test('encrypted connections verify the server, and a refusal says what to do', async (t) => {
  const server = await openOwnPostgres(t)
  const files = await makeCertificates(t)
  await chown(files.key, server.account.uid, server.account.gid)
  await server.start({ ssl: 'on', ssl_cert_file: files.certificate, ssl_key_file: files.key })
  const url = (query: string, host = 'localhost') =>
    `postgres://gantry@${host}:${server.port}/postgres?${query}`
  const authority = `&sslrootcert=${encodeURIComponent(files.authority)}`

  const key = { GANTRY_SECRET_KEY: randomBytes(32).toString('hex') }
  const { callHook } = await startCalled(t, url(`sslmode=verify-full${authority}`), key)
  assert.equal((await callHook('one')).status, 202)
  const encrypted = `select bool_and(ssl) as all from pg_stat_ssl join pg_stat_activity using (pid)
    where application_name like 'gantry%'`
  assert.deepEqual(await server.query(encrypted), [{ all: true }])
  const home = await temporaryHome(t)
  const start = (query: string, host?: string) =>
    startGantry(t, { ...key, GANTRY_HOME: home, DATABASE_URL: url(query, host) })
  await (await start(`sslmode=require${authority}`)).stop()

  const remedy =
    /Add sslrootcert=\/path\/to\/ca\.pem to DATABASE_URL, and use the host name that is in the certificate/
  const other = await makeCertificates(t)
  for (const [query, host] of [
    ['sslmode=require'],
    [`sslmode=verify-full&sslrootcert=${encodeURIComponent(other.authority)}`],
    [`sslmode=verify-full${authority}`, '127.0.0.1'],
  ] as [string, string?][])
    await assert.rejects(start(query, host), remedy, query)
  await assert.rejects(
    start('sslmode=verify-full&sslrootcert=/nowhere/ca.pem'),
    /DATABASE_URL.*\/nowhere\/ca\.pem/,
  )
})
