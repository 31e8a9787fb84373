// The dashboard in a real browser, in front of a real Gantry.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { ADMIN } from '#test/support/process.ts'
import { until } from '#test/support/until.ts'
import { findViolations } from './axe.ts'
import { looksRightInEveryWay } from './looks.ts'
import { testRunPage } from './run-page.ts'
import { testScopes } from './scopes.ts'
import { chooseInAccountMenu } from './shell-steps.ts'
import {
  focusIsOn,
  goTo,
  isDisabledWithReason,
  openPage,
  openPagesWorld,
  type PagesWorld,
  signIn,
} from './world.ts'

describe('the pages', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('require a sign-in, reject a wrong password, and continue at the requested URL', async () => {
    const { page, errors, close } = await openPage(world, '/app/actions?status=failed', null)
    await signIn(page, { ...ADMIN, password: 'not the password' })
    await page.getByRole('alert').getByText('Incorrect email or password').waitFor()
    await signIn(page, ADMIN)
    await page.getByRole('heading', { name: 'Actions' }).waitFor()
    assert.equal(new URL(page.url()).search, '?status=failed')
    assert.equal(await page.getByLabel('Status').inputValue(), 'failed')
    await chooseInAccountMenu(page, 'Sign out')
    await page.getByLabel('Email').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('show a hook call as it runs: in the list without a reload, then step by step with its log', async () => {
    const { page, errors, close } = await openPage(world, '/app/actions')
    await page.getByText('No runs yet').waitFor()
    const id = await world.callHook({ greeting: 'hello' })
    const row = page.locator(`[data-action="${id}"]`)
    await row.getByText('In progress').waitFor()
    assert.match(await row.innerText(), /External service/)

    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: `#${id}` }).waitFor()
    assert.equal(new URL(page.url()).pathname, `/app/actions/${id}`)
    const log = page.getByLabel(/^Log of/)
    await log.getByText('first words').waitFor()
    await log.getByText('<b>not bold</b>').waitFor()
    assert.equal(await log.getByText('last words').count(), 0)
    assert.match(await page.title(), /^▶/)

    await world.open('speak')
    await page.getByRole('button', { name: /speak Completed/ }).waitFor()
    await page.getByRole('button', { name: /speak Completed/ }).click()
    await log.getByText('last words').waitFor()
    await world.open('finish')
    await page.getByText('All targets completed.').waitFor()
    await page.getByText('Accepted: started a run').waitFor()
    await until('the title shows it', 20_000, async () => (await page.title()).startsWith('✓'))
    assert.match(await page.getByText('greeting').first().innerText(), /greeting/)
    assert.deepEqual(errors, [])
    await close()
  })

  it('cancel a run after confirmation, and retry it', async () => {
    await world.open('speak')
    await world.close('finish')
    const id = await world.callHook({})
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Canceled by a user.').waitFor()
    await world.open('finish')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText(/^(Queued|Started) Two steps #/).waitFor()
    await page.getByText('Retry of').waitFor()
    assert.notEqual(new URL(page.url()).pathname, `/app/actions/${id}`)
    await page.getByText('All targets completed.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('store filters in the URL, through a reload', async () => {
    const { page, close } = await openPage(world, '/app/actions')
    await page.locator('[data-action]').first().waitFor()
    await page.keyboard.press('/')
    await page.getByLabel('Status').selectOption('failed')
    await page.getByLabel('Trigger').selectOption('hook')
    await rowsAre(page, 1)
    await page.reload()
    await page.locator('[data-action]').first().waitFor()
    assert.equal(await page.getByLabel('Status').inputValue(), 'failed')
    assert.equal(await page.locator('[data-action]').count(), 1)
    await page.getByLabel('Status').selectOption('skipped')
    await page.getByText('No actions match these filters').waitFor()
    await close()
  })

  it('say that Gantry is unreachable, keep what they show, and update once it is back', async () => {
    const { page, errors, close } = await openPage(world, '/app/actions?status=failed%2Ccompleted')
    await page.locator('[data-action]').first().waitFor()
    const start = await world.stop()
    await page.getByLabel('Trigger').selectOption('retry')
    await page.getByText('Gantry is unreachable.').waitFor()
    await start()
    await page.getByText('Gantry is unreachable.').waitFor({ state: 'detached' })
    await rowsAre(page, 1)
    assert.match(page.url(), /status=failed%2Ccompleted&trigger=retry/)
    await page.getByLabel('Trigger').selectOption('')
    const id = await world.callHook({})
    await page.locator(`[data-action="${id}"]`).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('let people sign in again above their work when the session ends', async () => {
    const { page, close } = await openPage(world, '/app/actions?status=completed')
    await page.locator('[data-action]').first().waitFor()
    await page.context().clearCookies()
    await page.getByLabel('Operation').selectOption('custom')
    await page.getByText('Your session has ended').waitFor()
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Your session has ended').waitFor({ state: 'detached' })
    await page.locator('[data-action]').first().waitFor()
    assert.match(page.url(), /status=completed&type=custom/)
    await close()
  })

  it('tell viewers why they cannot run anything, and the API rejects it as well', async () => {
    await world.openAll()
    const id = await world.callHook({})
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`, world.viewer)
    await page.getByText('All targets completed.').waitFor()
    await isDisabledWithReason(page, 'Retry')
    await page.goto(`/app/pipelines/${world.pipelineId}`)
    await page.getByRole('heading', { name: 'Two steps' }).waitFor()
    await isDisabledWithReason(page, 'Run')
    const rejected = await page.request.post(`/actions/${id}/retry`, {
      headers: { 'x-gantry-request': '1' },
      data: {},
    })
    assert.equal(rejected.status(), 403)
    assert.deepEqual(errors, [])
    await close()
  })

  it('run a pipeline with a comment and variables, after a preview', async () => {
    await world.openAll()
    const { page, errors, close } = await openPage(world, '/app/pipelines')
    await page.getByRole('link', { name: 'Two steps' }).click()
    await page.getByRole('button', { name: 'Run', disabled: false }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 server, 2 steps each').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await page.keyboard.press('Escape')
    await focusIsOn(page, 'Run')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Comment').fill('manual run')
    await dialog.getByLabel('Variables').fill('greeting=good morning')
    await dialog.getByRole('button', { name: 'Run' }).click()
    await page.getByText('All targets completed.').waitFor()
    await page.getByText('manual run').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('show the deliveries of hooks, and that they fail', async () => {
    const { page, errors, close } = await openPage(world, '/app/hooks')
    await page.getByRole('link', { name: 'Unreachable receiver' }).click()
    await page.getByText('Receiver unreachable').first().waitFor()
    await page.getByText('Failing', { exact: true }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('open a log of nine megabytes, and find its last line', async () => {
    await world.openAll()
    const id = await world.runWithLongLog()
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByText('All targets completed.').waitFor()
    const log = page.getByLabel(/^Log of/)
    await log.getByText('line of a long log').first().waitFor()
    await page.getByLabel('Search the log').fill('needle at the end')
    await page.getByText('1 of 1').waitFor()
    await page.keyboard.press('Enter')
    await log.getByText('needle at the end').waitFor()
    assert.ok((await log.locator('[data-index]').count()) < 300, 'only visible lines are rendered')
    assert.deepEqual(errors, [])
    await close()
  })

  it('show a way out where a URL leads nowhere', async () => {
    const { page, close } = await openPage(world, '/app/actions/999999')
    await page.getByRole('heading', { name: 'This action does not exist' }).waitFor()
    const unknown = [
      ['/app/nowhere', 'page'],
      ['/app/actions/none', 'action'],
      ['/app/pipelines/999999', 'pipeline'],
      ['/app/hooks/incoming/none', 'hook'],
    ] as const
    for (const [path, what] of unknown) {
      await goTo(page, path)
      await page.getByRole('heading', { name: `This ${what} does not exist` }).waitFor()
    }
    await page.getByRole('link', { name: 'All actions' }).click()
    await page.locator('[data-action]').first().waitFor()
    await close()
  })

  it('have no serious accessibility violation, no error and no injected style, light and dark, wide and narrow', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('heading', { level: 1 }).waitFor()
    const id = await world.callHook({})
    for (const path of world.everyPage(id)) {
      await goTo(page, path)
      await looksRightInEveryWay(page, path)
      await hasTitleAndIcon(page, path)
    }
    await page.getByRole('button', { name: /^Account menu of/ }).click()
    for (const next of ['Light', 'Dark', 'Like the system'])
      await page.getByRole('menuitemradio', { name: next }).click()
    assert.equal(await page.locator('style').count(), 0, 'a color scheme has a style element')
    assert.deepEqual(errors, [])
    await close()
  })

  it('have a title and an icon, also for visitors and where there is nothing', async () => {
    const { page, close } = await openPage(world, '/app/sign-in', null)
    await page.getByLabel('Email').waitFor()
    for (const path of ['/app/sign-in', '/app/invitation', '/app/reset-password', '/app/device', '/docs']) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await hasTitleAndIcon(page, path)
    }
    await close()
  })

  testRunPage(() => world)
  describe('of several projects', () => testScopes(() => world))
})

/** Of a run its status, otherwise the logo. */
async function hasTitleAndIcon(page: Page, path: string): Promise<void> {
  assert.match(await page.title(), /^.+ · Gantry$|^Gantry .+/, path)
  const icon = await page.locator('link[rel="icon"]').getAttribute('href')
  assert.match(icon!, /^data:image\/svg\+xml,.|^\/favicon\.ico$/, path)
  const response = await page.request.get(icon!.startsWith('data:') ? '/favicon.ico' : icon!)
  assert.deepEqual([response.status(), response.headers()['content-type']], [200, 'image/svg+xml'], path)
}

async function rowsAre(page: Page, count: number): Promise<void> {
  await until(`${count} rows`, 20_000, async () => (await page.locator('[data-action]').count()) === count)
}
