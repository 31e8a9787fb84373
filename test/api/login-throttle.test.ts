// Failed logins are throttled, and nobody can use that to keep somebody else out or to find out who has an account.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { subjectsOf } from '#access/accounts/login-throttle.ts'
import {
  type Arranged,
  addFailures,
  elsewhere,
  logIn,
  networkAddress,
  openAccounts,
  PASSWORD,
} from '#test/support/accounts.ts'
import { type Answer, openTestApp, type TestApp } from '#test/support/harness.ts'
import { listen } from '#test/support/streams.ts'

const app = await openTestApp({ after })
const arrangeSlow = await openAccounts({ after })
/** The hash of PASSWORD at the lowest cost, for tests in which it does not matter how long a comparison takes. */
const QUICK_HASH =
  '$argon2id$v=19$m=8,t=1,p=1$YSBzYWx0IGZvciB0ZXN0cw$MlFQP5pWrc/k0mn24kiaChL9CmQ2yl/EQKiVVUIY4R8'
const arrange = (test?: TestApp) => arrangeSlow(test, QUICK_HASH)

function assertThrottled({ status, body, headers }: Answer, about: { atMost: number }) {
  assert.equal(status, 429)
  assert.equal(body.code, 'too_many_requests')
  const seconds = Number(headers['retry-after'])
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= about.atMost, `${seconds} seconds`)
}

const guess = (test: Arranged, number: number, address = test.address) =>
  logIn(test, test.person.email, `guess ${number}`, address)

suite('guesses from one network', () => {
  test('are throttled after ten for an account, in any case and from any address of the network', async () => {
    const test = await arrange()
    const address = (host: number) => networkAddress(test.person.id, host)
    for (let number = 1; number <= 10; number++)
      assert.equal((await guess(test, number, address(number))).status, 401)
    const upper = test.person.email.toUpperCase()
    assertThrottled(await logIn(test, upper, 'guess 11', address(11)), { atMost: 900 })
  })

  test('reject the correct password as well, until the oldest of them is 15 minutes old', async () => {
    const test = await arrange()
    const pair = { ...test.person, address: test.address }
    await addFailures(test, 'pair', pair, 10, '14 minutes')
    assertThrottled(await logIn(test), { atMost: 60 })
    const other = await arrange()
    await addFailures(other, 'pair', { ...other.person, address: other.address }, 50, '15 minutes 1 second')
    assert.equal((await logIn(other)).status, 200)
  })

  test('on any account are throttled after fifty, other networks are not', async () => {
    const test = await arrange()
    await addFailures(test, 'network', test, 50)
    assertThrottled(await logIn(test), { atMost: 840 })
    assert.equal((await logIn(test, test.person.email, PASSWORD, elsewhere(1))).status, 200)
  })

  test('one below each limit are not throttled', async () => {
    const test = await arrange()
    await addFailures(test, 'pair', { ...test.person, address: test.address }, 9)
    await addFailures(test, 'network', test, 49)
    await addFailures(test, 'account', test.person, 99)
    assert.equal((await logIn(test)).status, 200)
  })

  test('are forgotten by a successful login, except those of the network', async () => {
    const test = await arrange()
    await addFailures(test, 'pair', { ...test.person, address: test.address }, 9)
    await addFailures(test, 'network', test, 48)
    assert.equal((await logIn(test)).status, 200)
    assert.equal((await guess(test, 1)).status, 401)
    const stranger = await arrange()
    assert.equal((await logIn(stranger, stranger.person.email, 'wrong', test.address)).status, 401)
    assertThrottled(await logIn(stranger, stranger.person.email, PASSWORD, test.address), { atMost: 900 })
  })

  test('cannot exceed the limit by being concurrent', async () => {
    const test = await arrangeSlow()
    const guesses = Array.from({ length: 25 }, (_, number) => guess(test, number))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 401).length, 10)
    assert.equal(statuses.filter((status) => status === 429).length, 15)
  })

  test('do not stop concurrent correct logins', async () => {
    const test = await arrangeSlow()
    const logins = Array.from({ length: 20 }, () => logIn(test))
    for (const { status } of await Promise.all(logins)) assert.equal(status, 200)
  })
})

suite('guesses from many networks', () => {
  test('do not keep the owner out of a network that they signed in from', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    await addFailures(test, 'account', test.person, 100)
    assertThrottled(await logIn(test, test.person.email, PASSWORD, elsewhere(2)), { atMost: 3_540 })
    assert.equal((await logIn(test)).status, 200)
  })

  test('are throttled after a hundred in an hour, even if each network tried only once', async () => {
    const test = await arrange()
    await addFailures(test, 'account', test.person, 99, '50 minutes')
    assert.equal((await guess(test, 100, elsewhere(3))).status, 401)
    assertThrottled(await guess(test, 101, elsewhere(4)), { atMost: 600 })
    assertThrottled(await logIn(test, test.person.email, PASSWORD, elsewhere(5)), { atMost: 600 })
  })

  test('count against each other only where the account did not sign in within 90 days', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    await addFailures(test, 'account', test.person, 100)
    await sql`update sign_in_networks set signed_in_at = now() - interval '90 days 1 minute'
      where user_id = ${test.person.id}`.execute(test.db)
    assertThrottled(await logIn(test), { atMost: 3_540 })
  })

  test('of a familiar network do not use up what others may fail', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    await addFailures(test, 'account', test.person, 99)
    for (let number = 0; number < 5; number++) assert.equal((await guess(test, number)).status, 401)
    assert.equal((await logIn(test, test.person.email, PASSWORD, elsewhere(6))).status, 200)
  })

  test('by neighbors do not keep the owner out either', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    await addFailures(test, 'network', test, 60)
    assert.equal((await logIn(test)).status, 200)
  })

  test('learn nothing beyond the limit, however many are concurrent', async () => {
    const test = await arrangeSlow()
    await addFailures(test, 'account', test.person, 95)
    const guesses = Array.from({ length: 20 }, (_, number) => guess(test, number, elsewhere(100 + number)))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 401).length, 5)
    assert.equal(statuses.filter((status) => status === 429).length, 15)
  })
})

suite('throttling reveals nothing', () => {
  test('an unknown email is throttled like a known one', async () => {
    const test = await arrange()
    const nobody = { email: `nobody-${test.person.id}@example.com`, address: test.address }
    for (let number = 1; number <= 10; number++)
      assert.equal((await logIn(test, nobody.email, 'wrong')).status, 401)
    assertThrottled(await logIn(test, nobody.email, 'wrong'), { atMost: 900 })
    await addFailures(test, 'account', { email: `${nobody.email}.au` }, 100)
    assertThrottled(await logIn(test, `${nobody.email}.au`, 'wrong', elsewhere(7)), { atMost: 3_540 })
  })

  test('a guess in a throttled network gets one response, wherever the account signs in from', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    await addFailures(test, 'network', test, 50)
    const answers = [await guess(test, 1), await logIn(test, 'nobody@example.com', 'guess')]
    const shown = answers.map(({ status, body }) => [status, body.message])
    assert.equal(answers[0]!.status, 429)
    assert.deepEqual(shown[0], shown[1])
    // A second may begin between the two.
    const [first, second] = answers.map(({ headers }) => Number(headers['retry-after']))
    assert.ok(second! <= first! && second! > first! - 10, `${first} and ${second} seconds`)
  })

  test('a blocked attempt counts the same with the correct password and with a wrong one', async () => {
    const test = await arrange()
    await addFailures(test, 'account', test.person, 100)
    for (let number = 0; number < 10; number++)
      assert.equal((await logIn(test, test.person.email, PASSWORD, elsewhere(8))).status, 429)
    await sql`delete from login_failures where subject = ${subjectsOf(test.person.email, '').account}`.execute(
      test.db,
    )
    assertThrottled(await logIn(test, test.person.email, PASSWORD, elsewhere(8)), { atMost: 900 })
  })

  test('a network that floods is rejected without comparing passwords', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    await addFailures(test, 'network', test, 1_000)
    test.statements.length = 0
    assertThrottled(await logIn(test), { atMost: 840 })
    assert.ok(!test.statements.some((statement) => statement.includes('password_hash')))
  })

  test('failures are stored without the address that was typed', async () => {
    const test = await arrange()
    await logIn(test, 'my password by mistake', 'wrong')
    const { rows } = await sql<{ text: string }>`
      select coalesce((select string_agg(f::text, ' ') from login_failures f), '') ||
        (select string_agg(a::text, ' ') from audit_entries a) as text`.execute(test.db)
    assert.match(rows[0]!.text, /sign_in_failed/)
    assert.doesNotMatch(rows[0]!.text, /by mistake/)
  })
})

test('an account that is locked in a network, and an unknown one, are rejected without a comparison', async () => {
  const test = await arrange()
  for (const email of [test.person.email, 'locked@example.com']) {
    await addFailures(test, 'pair', { email, address: test.address }, 10)
    test.statements.length = 0
    assertThrottled(await logIn(test, email), { atMost: 840 })
    assert.ok(!test.statements.some((statement) => statement.includes('password_hash')))
  }
})

test('wrong logins by others over real connections leave the owner in, from several networks', async () => {
  const test = await arrange(app)
  const host = new URL(await listen(app))
  const send = (localAddress: string, password: string) =>
    post(host, localAddress, { email: test.person.email, password })
  assert.equal(await send('127.0.0.1', PASSWORD), 200)
  for (const network of ['127.0.1.1', '127.0.2.1', '127.0.3.1']) {
    for (let number = 0; number < 10; number++)
      assert.equal(await send(network, `guess ${number}`), 401, network)
    assert.equal(await send(network, 'guess 11'), 429, network)
  }
  assert.equal(await send('127.0.0.1', PASSWORD), 200, 'the owner, where they signed in before')
  assert.equal(await send('127.0.9.1', PASSWORD), 200, 'the owner, somewhere new')
})

test('the network is that of the connection unless a trusted proxy forwards another', async (t) => {
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  const body = { email: 'nobody@example.com', password: 'wrong' }
  for (const [environment, address] of [
    [{}, '192.0.2.77'],
    [{ GANTRY_TRUST_PROXY: '192.0.2.0/24' }, '203.0.113.77'],
    [{ GANTRY_TRUST_PROXY: '10.0.0.0/8' }, '192.0.2.77'],
  ] as const) {
    const test = await openTestApp(t, { environment })
    assert.equal((await test.request('POST', '/users/login', { body, headers })).status, 401)
    const { network } = subjectsOf('', address)
    const { rows } = await sql`select from login_failures where subject = ${network}`.execute(test.db)
    assert.equal(rows.length, 1, address)
  }
})

/** The status of a login over a connection from this address of the loopback interface. */
function post(host: URL, localAddress: string, body: object): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { 'content-type': 'application/json' }
  const url = new URL('/users/login', host)
  httpRequest(url, { method: 'POST', localAddress, headers, agent: false }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode!))
  })
    .on('error', reject)
    .end(JSON.stringify(body))
  return promise
}
