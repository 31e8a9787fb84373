import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readPerson } from './person.ts'

const TOKEN = { iss: 'https://login.example.com', sub: 'ada' }
type Claims = Record<string, unknown>
const read = (token: Claims, userinfo: Claims) =>
  readPerson({ idToken: { ...TOKEN, ...token }, userinfo }, 'groups')

suite('the email address of a person', () => {
  const [ada, eve] = ['ada@example.com', 'eve@example.com']

  test('is that of the ID token, else that of the userinfo endpoint', () => {
    assert.equal(read({ email: ada }, { email: eve }).email, ada)
    assert.equal(read({}, { email: eve }).email, eve)
    assert.equal(read({ email: 'no address' }, { email: eve }).email, null)
  })

  test('is verified only by a claim about that exact address', () => {
    const cases: [token: Claims, userinfo: Claims, isVerified: boolean | null][] = [
      [{ email: ada, email_verified: true }, {}, true],
      [{ email: ada }, { email: ada, email_verified: true }, true],
      [{ email: ada, email_verified: true }, { email: ada }, true],
      [{ email: ada }, { email: eve, email_verified: true }, null],
      [{ email: ada }, { email_verified: true }, null],
      [{ email: ada }, { email: ada.toUpperCase(), email_verified: true }, null],
      [{ email_verified: true }, { email: eve }, null],
      [{ email: ada, email_verified: true }, { email: ada, email_verified: false }, false],
      [{ email_verified: false }, { email: eve, email_verified: true }, false],
    ]
    for (const [token, userinfo, isVerified] of cases)
      assert.equal(read(token, userinfo).isEmailVerified, isVerified, JSON.stringify([token, userinfo]))
  })
})
