// The pages for accounts in a real browser, in front of a real Gantry.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { testAccountPage } from './account-page.ts'
import { type AccountsWorld, openAccountsWorld } from './accounts-world.ts'
import { testAuthorizePage, unansweredRequest } from './authorize-page.ts'
import { testDevicePage } from './device-page.ts'
import { testInvitationPage, testResetPage } from './link-pages.ts'
import { looksRight } from './looks.ts'
import { testSignInPage } from './sign-in-page.ts'
import { goTo, openPage, signIn } from './world.ts'
import { assertWrites } from './writes.ts'

describe('the pages for accounts', () => {
  let world: AccountsWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openAccountsWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  describe('the sign-in page', () => testSignInPage(() => world))
  describe('the invitation page', () => testInvitationPage(() => world))
  describe('the reset page', () => testResetPage(() => world))
  describe('the account page', () => testAccountPage(() => world))
  describe('the page that authorizes the command line', () => testAuthorizePage(() => world))
  describe('the page that authorizes another machine', () => testDevicePage(() => world))

  it('have no serious accessibility violation, no error and no injected style, light, dark and narrow', async () => {
    const person = await world.createPerson('Ada Accessible')
    const { page, errors, close } = await openPage(world, '/app/sign-in?problem=sso_expired', null)
    await looksRight(page, 'sign-in')
    await signIn(page, { ...person, password: 'wrong' })
    await page.getByText('Incorrect email or password').waitFor()
    await looksRight(page, 'sign-in, rejected')
    const request = await unansweredRequest('a-machine-with-a-long-name.and-a-long-domain.example')
    await page.goto(request)
    await looksRight(page, 'authorize, signed out')
    await page.goto('/app/authorize')
    await looksRight(page, 'authorize, not valid')
    const organization = await world.createOrganization('Adventure Works')
    await page.goto(await world.invite(organization, 'axe@example.com'))
    await looksRight(page, 'invitation')
    await page.goto(await world.invite(organization, person.email))
    await looksRight(page, 'invitation of an account')
    await page.goto(`${world.url}/app/reset-password#gty_rs_unknown`)
    await looksRight(page, 'dead link')
    const reset = await world.api('POST', `/users/${person.id}/password-reset`)
    await page.goto(reset.body.url)
    await looksRight(page, 'reset')
    await page.getByLabel('New password').fill(person.password)
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await goTo(page, '/app/account')
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor()
    await looksRight(page, 'account')
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await looksRight(page, 'sign out everywhere')
    await page.keyboard.press('Escape')
    await page.goto(request)
    await looksRight(page, 'authorize')
    await page.evaluate("history.replaceState({ outcome: 'approved' }, '')")
    await looksRight(page, 'authorize, approved')
    await page.goto('/app/device')
    await looksRight(page, 'device, code')
    const device = await world.callAs(undefined, 'POST', '/session/device-codes', { name: 'build-7' })
    await page.getByLabel('Code').fill(device.body.user_code)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Did you get this code from another person?').waitFor()
    await looksRight(page, 'device')
    await page.goto('/app/account')
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Access to', { exact: true }).selectOption('Selected organizations')
    await page.getByRole('dialog').getByLabel('Name').fill('axe')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByText('Select at least one organization').waitFor()
    await looksRight(page, 'new token')
    await page.getByLabel('Sample organization').check()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByText('Copy it now').waitFor()
    await looksRight(page, 'created token')
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform what writes.ts says', () => assertWrites(world, 'account-pages.browser.ts'))
})
