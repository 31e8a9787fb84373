// How long a login takes must not say whether there is such an account. Measured here, where nothing else runs.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { addFailures, elsewhere, logIn, openAccounts } from '#test/support/accounts.ts'

const arrange = await openAccounts({ after })

suite('an unknown email takes as long as an incorrect password', () => {
  /** The lower quartile of each, measured in turns so that a busy machine slows down both. */
  async function compare(
    one: (round: number) => Promise<unknown>,
    other: (round: number) => Promise<unknown>,
  ) {
    const times: [number[], number[]] = [[], []]
    for (let round = 0; round < 16; round++) {
      for (const [index, attempt] of [one, other].entries()) {
        const began = performance.now()
        await attempt(round)
        times[index]!.push(performance.now() - began)
      }
    }
    const [first, second] = times.map((list) => list.sort((a, b) => a - b)[4]!) as [number, number]
    // Comparing takes ten times as long as everything else: without it the ratio would be far outside.
    assert.ok(first / second < 1.5 && second / first < 1.5, `${first} ms and ${second} ms`)
  }

  test('when nothing is throttled', async () => {
    const test = await arrange()
    await compare(
      (round) => logIn(test, test.person.email, 'wrong', elsewhere(20 + round)),
      (round) => logIn(test, 'nobody@example.com', 'wrong', elsewhere(40 + round)),
    )
  })

  test('when the network is throttled, whether the account signs in from there or not', async () => {
    const test = await arrange()
    assert.equal((await logIn(test)).status, 200)
    const other = await arrange()
    await addFailures(test, 'network', test, 50)
    // Ten guesses for one account would be rejected at once.
    const forget = () =>
      sql`delete from login_failures where failed_at > now() - interval '50 seconds'`.execute(test.db)
    const guessAt = async (email: string) => {
      assert.equal((await logIn(test, email, 'wrong', test.address)).status, 429)
      await forget()
    }
    for (const email of ['nobody@example.com', other.person.email])
      await compare(
        () => guessAt(test.person.email),
        () => guessAt(email),
      )
  })
})
