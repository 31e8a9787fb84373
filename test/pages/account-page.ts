// The account page: profile, password, sessions and tokens.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import type { AccountsWorld } from './accounts-world.ts'
import { focusMovesTo, tabTo } from './keyboard.ts'
import { focusIsOn, goTo, type Login, openPage, signIn } from './world.ts'

export function testAccountPage(theWorld: () => AccountsWorld): void {
  const logIn = async (person: Login): Promise<string> => {
    const { email, password } = person
    const { status, body } = await theWorld().callAs(undefined, 'POST', '/users/login', { email, password })
    assert.equal(status, 200, JSON.stringify(body))
    return body.access_token
  }
  const statusOf = async (token: string, path = '/users/me') =>
    (await theWorld().callAs(token, 'GET', path)).status

  it('changes name and language', async () => {
    const person = await theWorld().createPerson('Nina Name')
    const { page, errors, close } = await openAccount(theWorld(), person)
    const profile = page.getByRole('region', { name: 'Profile' })
    await profile.getByLabel('Name').fill('Nina Renamed')
    await profile.getByLabel('Language').selectOption('Deutsch')
    await profile.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Profile saved').waitFor()
    const { body } = await theWorld().callAs(await logIn(person), 'GET', '/users/me')
    assert.deepEqual([body.name, body.language], ['Nina Renamed', 'de'])
    assert.deepEqual(errors, [])
    await close()
  })

  it('changes the password, which ends other sessions and not this one', async () => {
    const person = await theWorld().createPerson('Paul Password')
    const other = await logIn(person)
    const { page, errors, close } = await openAccount(theWorld(), person)
    const section = page.getByRole('region', { name: 'Password' })
    const change = async (current: string, next: string) => {
      await section.getByLabel('Current password').fill(current)
      await section.getByLabel('New password').fill(next)
      await section.getByRole('button', { name: 'Change password' }).click()
    }
    await change('not the password', 'a new password')
    await section.getByText('Is incorrect').waitFor()
    assert.equal(await statusOf(other), 200)
    await change(person.password, 'a new password')
    await page.getByText('Password changed').waitFor()
    assert.equal(await statusOf(other), 401)
    assert.equal(await section.getByLabel('Current password').inputValue(), '')
    await logIn({ ...person, password: 'a new password' })
    await page.reload()
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('shows where its owner is signed in, and ends one session or all of them', async () => {
    const person = await theWorld().createPerson('Sam Sessions')
    const program = await logIn(person)
    const elsewhere = await openAccount(theWorld(), person)
    const { page, errors, close } = await openAccount(theWorld(), person)
    const items = page.getByRole('region', { name: 'Sessions' }).getByRole('listitem')
    await items
      .filter({ hasText: 'This session' })
      .getByText(/^Chrome \d+ on Linux/)
      .waitFor()
    assert.match(await items.filter({ hasText: 'This session' }).innerText(), /Browser · 127\.0\.0\.1/)
    assert.equal(await items.filter({ hasText: 'This session' }).getByRole('button').count(), 0)
    assert.equal(await items.filter({ hasText: 'Chrome' }).count(), 2)

    // One for the invitation, one for the login.
    const programs = items.filter({ hasText: 'API login' })
    while ((await statusOf(program)) !== 401) {
      const before = await programs.count()
      await programs
        .first()
        .getByRole('button', { name: /^Revoke session: node/ })
        .click()
      await until('the session is gone', 20_000, async () => (await programs.count()) < before)
    }

    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await focusIsOn(page, 'Sign out everywhere')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await elsewhere.page.reload()
    await elsewhere.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await signIn(page, person)
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
    await elsewhere.close()
  })

  it('creates a token that is shown once and can do no more than it says, and revokes it', async () => {
    const person = await theWorld().createPerson('Tom Token', 'developer')
    const { page, errors, close } = await openAccount(theWorld(), person)
    const section = page.getByRole('region', { name: 'Personal access tokens' })
    await section.getByRole('button', { name: 'New token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('CI of the web shop')
    await dialog.getByLabel('Read').uncheck()
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('Select at least one scope').waitFor()
    await dialog.getByLabel('Read').check()
    await dialog.getByLabel('Access to').selectOption('Selected projects')
    await dialog.getByLabel('Sample organization / Sample project').check()
    await dialog.getByLabel('Expires after').selectOption('30 days')
    await dialog
      .getByText(
        'Anyone who has this token can see runs, logs, hooks and settings in 1 project, for 30 days.',
      )
      .waitFor()
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('Copy it now. It is not shown again.').waitFor()
    const token = await dialog.getByLabel('Token', { exact: true }).inputValue()
    assert.match(token, /^gty_pat_/)
    const command = await dialog.getByLabel('Sign in the command line', { exact: true }).inputValue()
    assert.equal(command, `gantry login ${theWorld().url} --with-token`)
    await page.keyboard.press('Escape')
    assert.equal(await dialog.getByRole('button', { name: 'Copy Token' }).count(), 1)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await focusIsOn(page, 'New token')
    const kept = await page.evaluate(
      'document.body.innerHTML + JSON.stringify({ ...sessionStorage, ...localStorage })',
    )
    assert.ok(!String(kept).includes(token))

    assert.equal(await statusOf(token, '/actions'), 200)
    const run = await theWorld().callAs(token, 'POST', '/pipelines/1/actions', {})
    assert.deepEqual([run.status, /`?run`?/.test(run.body.message)], [403, true], run.body.message)
    await page.reload()
    const item = section.getByRole('listitem')
    await item.getByText('Scopes: read · only Sample project').waitFor()
    assert.match(await item.innerText(), /Expires .+ · last used .+ from 127\.0\.0\.1/)
    await item.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await item.waitFor({ state: 'detached' })
    assert.equal(await statusOf(token, '/actions'), 401)
    assert.deepEqual(errors, [])
    await close()
  })

  it('creates a token by keyboard alone', async () => {
    const person = await theWorld().createPerson('Kay Keys', 'developer')
    const { page, close } = await openAccount(theWorld(), person)
    await tabTo(page, 'New token')
    await page.keyboard.press('Enter')
    await focusMovesTo(page, 'Name')
    await page.keyboard.type('From the keyboard')
    await tabTo(page, /^Run/)
    await page.keyboard.press('Space')
    await tabTo(page, 'Create token')
    await page.keyboard.press('Enter')
    const token = await page.getByLabel('Token', { exact: true }).inputValue()
    assert.equal(await statusOf(token, '/actions'), 200)
    await tabTo(page, 'Done')
    await page.keyboard.press('Enter')
    await focusMovesTo(page, 'New token')
    await page.getByText('Scopes: read, run').waitFor()
    await close()
  })

  it('keeps what was entered when the page is loaded again, but no password', async () => {
    const person = await theWorld().createPerson('Dora Draft')
    const { page, errors, close } = await openAccount(theWorld(), person)
    const profile = page.getByRole('region', { name: 'Profile' })
    await profile.getByLabel('Name').fill('Dora Drafted')
    await page.getByLabel('New password').fill('a password that is not kept')
    const kept = await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')
    assert.ok(String(kept).includes('Dora Drafted') && !String(kept).includes('not kept'))
    page.once('dialog', (dialog) => void dialog.accept())
    await page.reload()
    await profile.getByText('Your unsaved changes were restored.').waitFor()
    assert.equal(await profile.getByLabel('Name').inputValue(), 'Dora Drafted')
    assert.equal(await page.getByLabel('New password').inputValue(), '')
    await profile.getByRole('button', { name: 'Discard' }).click()
    assert.equal(await profile.getByLabel('Name').inputValue(), 'Dora Draft')
    assert.deepEqual(errors, [])
    await close()
  })
}

/** In a fresh browser. */
async function openAccount(world: AccountsWorld, person: Login) {
  const opened = await openPage(world, '/app/overview', null)
  await signIn(opened.page, person)
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor()
  await goTo(opened.page, '/app/account')
  await isAccountPage(opened.page)
  return opened
}

async function isAccountPage(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Account', exact: true }).waitFor()
}
