import { createHash, randomBytes } from 'node:crypto'
import { ADMIN } from '#test/support/process.ts'
import { at, type Drive, tokenIn } from './recorder.ts'

const EMAIL = 'person@example.com'
const PASSWORD = 'another horse battery'

/** Members and roles of an organization, and a person's account from invitation to reset. */
export async function drivePeople({ admin, anyone, recorder }: Drive, organization: number): Promise<void> {
  const role = await admin.post('/organizations/{id}/roles', {
    ...at({ id: organization }),
    body: { name: 'Watcher', permissions: ['action:view'] },
  })
  await admin.get('/organizations/{id}/roles', at({ id: organization }))
  await admin.get('/roles/{id}', at({ id: role.id }))
  await admin.put('/roles/{id}', {
    ...at({ id: role.id }),
    body: { permissions: ['action:view', 'pipeline:view'] },
  })

  const invite = (email: string) =>
    admin.post('/organizations/{id}/invitations', {
      ...at({ id: organization }),
      body: { email, role_id: role.id },
    })
  const unwanted = await invite('other@example.com')
  await admin.get('/organizations/{id}/invitations', at({ id: organization }))
  await admin.delete(
    '/organizations/{id}/invitations/{invitation_id}',
    at({ id: organization, invitation_id: unwanted.id }),
  )
  const { url } = await invite(EMAIL)
  await anyone.post('/users/read-invitation', { body: { token: tokenIn(url!) } })
  const { user } = await anyone.post('/users/accept-invitation', {
    body: { token: tokenIn(url!), name: 'Person', password: PASSWORD },
  })

  const member = at({ id: organization, user_id: user.id })
  await admin.get('/organizations/{id}/members', at({ id: organization }))
  await admin.get('/organizations/{id}/members/{user_id}', member)
  await admin.put('/organizations/{id}/members/{user_id}', {
    ...member,
    body: { grants: [{ role: 'viewer' }] },
  })
  await admin.delete('/organizations/{id}/members/{user_id}', member)
  await admin.delete('/roles/{id}', at({ id: role.id }))

  const { access_token } = await anyone.post('/users/login', { body: { email: EMAIL, password: PASSWORD } })
  const person = recorder.client({ token: access_token })
  await person.put('/users/me', { body: { name: 'Person of interest', language: 'de' } })
  await person.post('/users/me/password', {
    body: { current_password: PASSWORD, new_password: `new ${PASSWORD}` },
  })

  await admin.get('/users', { params: { query: { 'filter[email]': EMAIL } } })
  const reset = await admin.post('/users/{id}/password-reset', at({ id: user.id }))
  await anyone.post('/users/read-password-reset', { body: { token: tokenIn(reset.url) } })
  await anyone.post('/users/reset-password', { body: { token: tokenIn(reset.url), password: PASSWORD } })
  await admin.put('/users/{id}', { ...at({ id: user.id }), body: { active: false } })
}

/** Sessions and tokens of one account. */
export async function driveSessions({ anyone, recorder }: Drive): Promise<void> {
  await anyone.get('/session/options')
  await anyone.post('/session', { body: ADMIN })
  const browser = recorder.browser()
  await browser.get('/session')

  const verifier = randomBytes(32).toString('base64url')
  const redirect_uri = 'http://127.0.0.1:4711/callback'
  const { code } = await browser.post('/session/authorizations', {
    body: {
      redirect_uri,
      name: 'laptop',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    },
  })
  const { token } = await anyone.post('/session/authorizations/token', {
    body: { code, code_verifier: verifier, redirect_uri },
  })
  const commandLine = recorder.client({ token })
  await commandLine.get('/users/me')
  await commandLine.post('/users/logout')

  const startDevice = () => anyone.post('/session/device-codes', { body: { name: 'build-7' } })
  const { device_code, user_code } = await startDevice()
  await browser.post('/session/device-codes/lookup', { body: { user_code } })
  await browser.post('/session/device-codes/approve', { body: { user_code } })
  await anyone.post('/session/device-codes/token', { body: { device_code } })
  const denied = await startDevice()
  await browser.post('/session/device-codes/deny', { body: { user_code: denied.user_code } })

  const created = await browser.post('/users/personal-access-tokens', {
    body: { name: 'CI', scopes: ['read'] },
  })
  await browser.get('/users/personal-access-tokens')
  await browser.delete('/users/personal-access-tokens/{id}', at({ id: created.id }))

  const { refresh_token } = await anyone.post('/users/login', { body: ADMIN })
  await anyone.post('/users/refresh-token', { body: { refresh_token } })
  await browser.get('/users/me/permissions')
  const sessions = await browser.get('/users/me/sessions')
  const other = sessions.find(({ current }) => !current)!
  await browser.delete('/users/me/sessions/{id}', at({ id: other.id }))
  await browser.delete('/session')

  const { access_token } = await anyone.post('/users/login', { body: ADMIN })
  await recorder.client({ token: access_token }).post('/users/me/sessions/end-all')
}

/** Single sign-on, on an instance that does not have it. */
export async function driveSingleSignOn({ admin, anyone }: Drive): Promise<void> {
  const unavailable = (calling: Promise<unknown>) =>
    calling.then(
      () => {},
      () => {},
    )
  await admin.get('/users/me/identities')
  await unavailable(admin.post('/users/me/identities'))
  await unavailable(admin.delete('/users/me/identities/{id}', at({ id: 1 })))
  await unavailable(anyone.post('/session/oidc', { body: {} }))
}
