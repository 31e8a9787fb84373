// Single sign-on in a real browser, between a real Gantry and a real provider, which is another site for the browser.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { databaseOfProcess } from '#test/support/database.ts'
import { type IdentityProvider, startIdentityProvider } from '#test/support/identity-provider.ts'
import { later } from '#test/support/later.ts'
import { ADMIN, ADMIN_ENVIRONMENT, call, startGantry, temporaryHome } from '#test/support/process.ts'
import type { AccountsWorld } from './accounts-world.ts'
import { startLogin } from './authorize-page.ts'
import { findViolations } from './axe.ts'
import { openBrowser } from './browser.ts'
import { chooseInAccountMenu } from './shell-steps.ts'
import { freePort, openPage, signIn } from './world.ts'

const BUILD = fileURLToPath(new URL('../../scripts/build-web.mjs', import.meta.url))

describe('single sign-on', () => {
  const ends: (() => Promise<void>)[] = []
  const t = { after: (end: () => Promise<void>) => void ends.push(end) }
  let world: { url: string; browser: Browser }
  let startProvider: () => Promise<IdentityProvider>

  before(async () => {
    spawnSync(process.execPath, [BUILD], { stdio: 'ignore' })
    const [port, providerPort] = [await freePort(), await freePort()]
    const url = `http://127.0.0.1:${port}`
    startProvider = () => startIdentityProvider(t, `${url}/session/oidc/callback`, 'localhost', providerPort)
    await startGantry(t, {
      ...ADMIN_ENVIRONMENT,
      ...(await databaseOfProcess(t)),
      GANTRY_HOME: await temporaryHome(t),
      PORT: String(port),
      GANTRY_OIDC_ISSUER: `http://localhost:${providerPort}`,
      GANTRY_OIDC_CLIENT_ID: 'gantry',
      GANTRY_OIDC_CLIENT_SECRET: 'client secret of the tests',
      GANTRY_OIDC_LABEL: 'Acme login',
      GANTRY_OIDC_SIGNUP: 'true',
    })
    const browser = await openBrowser()
    later(t, () => browser.close())
    world = { url, browser }
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('says that the provider is away, and still takes a password', async () => {
    const { page, errors, close } = await openPage(world, '/app', null)
    await page.getByRole('button', { name: /Acme login/ }).click()
    await page
      .getByRole('alert')
      .getByText(/identity provider is not available/)
      .waitFor()
    assert.deepEqual(await findViolations(page), [])
    await signIn(page, ADMIN)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('goes to the provider and comes back signed in, as the next request and a reload confirm', async () => {
    const provider = await startProvider()
    provider.people.set('newcomer', { email: 'newcomer@example.com', name: 'New Person' })
    const { page, errors, close } = await openPage(world, '/app', null)
    await page.getByRole('button', { name: /Acme login/ }).click()
    await page.getByPlaceholder('Enter any login').fill('newcomer')
    await page.getByPlaceholder('and password').fill('x')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.ok(page.url().startsWith(`${world.url}/app`) && !page.url().includes('code='))
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const cookies = await page.context().cookies(world.url)
    const session = cookies.find(({ name }) => name === 'gantry_session')
    assert.equal(session?.sameSite, 'Strict')
    assert.ok(!cookies.some(({ name }) => name === 'gantry_sign_in'))
    assert.deepEqual(errors, [])

    // The provider still knows the person: one click is enough now.
    await chooseInAccountMenu(page, 'Sign out')
    await page.getByRole('button', { name: /Acme login/ }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await close()
  })

  it('comes back to the login of the command line, as it was asked for', async (t) => {
    const login = await startLogin(t, 'Ada’s laptop, 100%2B & co')
    const { page, errors, close } = await openPage(world, login.path, null)
    await page.getByRole('button', { name: /Acme login/ }).click()
    await page.getByPlaceholder('Enter any login').fill('newcomer')
    await page.getByPlaceholder('and password').fill('x')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('newcomer@example.com').waitFor()
    assert.equal(page.url(), new URL(login.path, world.url).href)
    await page.getByRole('button', { name: 'Approve' }).click()
    const callAs: AccountsWorld['callAs'] = (_token, method, path, body) =>
      call(world, method, path, { body })
    const { body } = await login.finish({ callAs })
    assert.deepEqual(
      [body.user.email, body.name],
      ['newcomer@example.com', 'gantry on Ada’s laptop, 100%2B & co'],
    )
    assert.deepEqual(errors, [])
    await close()
  })

  it('says why when somebody cancels at the provider', async () => {
    const { page, close } = await openPage(world, '/app', null)
    await page.getByRole('button', { name: /Acme login/ }).click()
    await page.getByText('[ Cancel ]').click()
    await page
      .getByRole('alert')
      .getByText(/identity provider did not/)
      .waitFor()
    await close()
  })
})
