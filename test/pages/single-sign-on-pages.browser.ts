// The pages that single sign-on starts from and returns to; single-sign-on.browser.ts has the sign-in itself.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { type IdentityProvider, startIdentityProvider } from '#test/support/identity-provider.ts'
import { ADMIN } from '#test/support/process.ts'
import { type AccountsWorld, openAccountsWorld } from './accounts-world.ts'
import { findViolations } from './axe.ts'
import { freePort, isLoaded, openPage, signIn } from './world.ts'
import { assertWrites } from './writes.ts'

const LABEL = 'Acme login'

describe('the pages with single sign-on', () => {
  let world: AccountsWorld
  let provider: IdentityProvider
  const ends: (() => Promise<void>)[] = []
  const t = { after: (end: () => Promise<void>) => ends.push(end) }

  /** For browsers it is another site than Gantry, as it is in earnest. */
  const openWorld = async (settings: Record<string, string> = {}) => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    provider = await startIdentityProvider(t, `${url}/session/oidc/callback`, 'localhost')
    return openAccountsWorld(t, {
      PORT: String(port),
      ...provider.environment,
      GANTRY_OIDC_LABEL: LABEL,
      GANTRY_OIDC_SIGNUP: 'true',
      ...settings,
    })
  }
  before(async () => {
    world = await openWorld()
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('lead to the identity provider, and back to the requested page', async () => {
    provider.people.set('sina', { email: 'sina@example.com', name: 'Sina Single' })
    const { page, errors, close } = await openPage(world, '/app/actions?status=failed', null)
    await page.getByLabel('Password', { exact: true }).waitFor()
    await page.getByRole('button', { name: LABEL }).click()
    await signInAtProvider(page, 'sina')
    await page.getByRole('heading', { name: 'Actions' }).waitFor()
    assert.equal(page.url(), `${world.url}/app/actions?status=failed`)
    await page.goto('/app')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('say what happened when it fails, and still take a password', async () => {
    provider.people.set('taken', { email: ADMIN.email, name: 'Somebody Else' })
    const { page, close } = await openPage(world, '/app/hooks', null)
    await page.getByRole('button', { name: LABEL }).click()
    await signInAtProvider(page, 'taken')
    await page.getByRole('alert').getByText('Another account already uses your email address.').waitFor()
    await signIn(page, ADMIN)
    await page.getByRole('heading', { name: 'Hooks' }).waitFor()
    await close()
  })

  it('accept an invitation: the account is created without a password', async () => {
    provider.people.set('ines', { email: 'ines@provider.example', name: 'Ines Invited' })
    const organization = await world.createOrganization('Wingtip')
    const link = await world.invite(organization, 'ines@example.com')
    const { page, errors, close } = await openPage(world, link, null)
    await page.getByRole('button', { name: LABEL }).click()
    await signInAtProvider(page, 'ines')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.goto('/app/members')
    await page.getByRole('region', { name: 'Wingtip' }).getByText('ines@example.com').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('bring the holder of an account back to the invitation, signed in', async () => {
    provider.people.set('sina', { email: 'sina@example.com', name: 'Sina Single' })
    const organization = await world.createOrganization('Proseware')
    const link = await world.invite(organization, 'sina@example.com')
    const { page, errors, close } = await openPage(world, link, null)
    await page.getByText('Sign in to your account to join.').waitFor()
    await page.getByRole('button', { name: LABEL }).click()
    await signInAtProvider(page, 'sina')
    await page.getByRole('button', { name: 'Join Proseware' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('link an identity to an account and unlink it, but not one of another account', async () => {
    const person = await world.createPerson('Lars Link')
    provider.people.set('lars', { email: 'lars@provider.example' })
    provider.people.set('sina', { email: 'sina@example.com' })
    const { page, errors, close } = await openPage(world, '/app/account', null)
    await signIn(page, person)
    const section = page.getByRole('region', { name: 'Single sign-on' })
    await section.getByRole('button', { name: 'Link an identity' }).click()
    await signInAtProvider(page, 'sina')
    await section.getByRole('alert').getByText('already linked to another account').waitFor()

    await page.context().clearCookies({ domain: 'localhost' })
    await section.getByRole('button', { name: 'Link an identity' }).click()
    await signInAtProvider(page, 'lars')
    await section.getByRole('listitem').getByText(provider.issuer).waitFor()
    await isLoaded(page)
    assert.deepEqual(await findViolations(page), [])
    await section.getByRole('button', { name: `Unlink ${LABEL}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await section.getByRole('listitem').waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform what writes.ts says', () => assertWrites(world, 'single-sign-on-pages.browser.ts'))

  it('hide passwords where they are not used', async () => {
    const without = await openWorld({ GANTRY_PASSWORD_LOGIN: 'false' })
    provider.people.set('olaf', { email: 'olaf@example.com', name: 'Olaf Only' })
    const { page, errors, close } = await openPage(without, '/app/account', null)
    await page.getByRole('button', { name: LABEL }).waitFor()
    assert.equal(await page.getByLabel('Password').count(), 0)
    assert.deepEqual(await findViolations(page), [])
    await page.getByRole('button', { name: LABEL }).click()
    await signInAtProvider(page, 'olaf')
    await page.getByRole('region', { name: 'Single sign-on' }).waitFor()
    assert.equal(await page.getByRole('region', { name: 'Password' }).count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })
})

/** Its pages ask who somebody is, then whether they agree; browsers that it knows skip the first. */
async function signInAtProvider(page: Page, login: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(login)
  await page.getByPlaceholder('and password').fill('any password')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}
