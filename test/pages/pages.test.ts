// The dashboard in a real browser, in front of a real Gantry.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { ADMIN } from '#test/support/process.ts'
import { until } from '#test/support/until.ts'
import { findBarriers } from './axe.ts'
import { testPlaces } from './places.ts'
import { testRunPage } from './run-page.ts'
import { focusIsOn, goTo, openPage, openPagesWorld, type PagesWorld, settled, signIn } from './world.ts'

const LOOKS = [
  { colorScheme: 'light', width: 1200, height: 800 },
  { colorScheme: 'dark', width: 360, height: 740 },
] as const

describe('the pages', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('ask who you are, say when it is wrong, and go on to where you wanted to go', async () => {
    const { page, faults, close } = await openPage(world, '/app/actions?status=failed', null)
    await signIn(page, { ...ADMIN, password: 'not the password' })
    await page.getByRole('alert').getByText('do not go together').waitFor()
    await signIn(page, ADMIN)
    await page.getByRole('heading', { name: 'Actions' }).waitFor()
    assert.equal(new URL(page.url()).search, '?status=failed')
    assert.equal(await page.getByLabel('Status').inputValue(), 'failed')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('E-mail').waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  it('show a call of a hook as it runs: in the list without reload, then step by step with its log', async () => {
    const { page, faults, close } = await openPage(world, '/app/actions')
    await page.getByText('Nothing has run here yet.').waitFor()
    const id = await world.callHook({ greeting: 'hello' })
    const row = page.locator(`[data-action="${id}"]`)
    await row.getByText('In progress').waitFor()
    assert.match(await row.innerText(), /Outside world/)

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
    await page.getByText('Every target completed.').waitFor()
    await page.getByText('Accepted: it started an action').waitFor()
    await until('the title says so', 20_000, async () => (await page.title()).startsWith('✓'))
    assert.match(await page.getByText('greeting').first().innerText(), /greeting/)
    assert.deepEqual(faults, [])
    await close()
  })

  it('cancel a run after asking, and run it again', async () => {
    await world.open('speak')
    await world.close('finish')
    const id = await world.callHook({})
    const { page, faults, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('A person cancelled it.').waitFor()
    await world.open('finish')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Retry of').waitFor()
    assert.notEqual(new URL(page.url()).pathname, `/app/actions/${id}`)
    await page.getByText('Every target completed.').waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  it('keep filters in the address, through a reload', async () => {
    const { page, close } = await openPage(world, '/app/actions')
    await page.locator('[data-action]').first().waitFor()
    await page.keyboard.press('/')
    await page.getByLabel('Status').selectOption('failed')
    await page.getByLabel('Started by').selectOption('hook')
    await rowsAre(page, 1)
    await page.reload()
    await page.locator('[data-action]').first().waitFor()
    assert.equal(await page.getByLabel('Status').inputValue(), 'failed')
    assert.equal(await page.locator('[data-action]').count(), 1)
    await page.getByLabel('Status').selectOption('skipped')
    await page.getByText('No action matches these filters.').waitFor()
    await close()
  })

  it('say that Gantry is away, keep what is there, and go on by themselves when it is back', async () => {
    const { page, faults, close } = await openPage(world, '/app/actions?status=failed%2Ccompleted')
    await page.locator('[data-action]').first().waitFor()
    const start = await world.stop()
    await page.getByLabel('Started by').selectOption('retry')
    await page.getByText('Gantry cannot be reached.').waitFor()
    await start()
    await page.getByText('Gantry cannot be reached.').waitFor({ state: 'detached' })
    await rowsAre(page, 1)
    assert.match(page.url(), /status=failed%2Ccompleted&trigger=retry/)
    await page.getByLabel('Started by').selectOption('')
    const id = await world.callHook({})
    await page.locator(`[data-action="${id}"]`).waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  it('let whoever loses the session sign in again above their work', async () => {
    const { page, close } = await openPage(world, '/app/actions?status=completed')
    await page.locator('[data-action]').first().waitFor()
    await page.context().clearCookies()
    await page.getByLabel('Kind').selectOption('custom')
    await page.getByText('Your session has ended').waitFor()
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Your session has ended').waitFor({ state: 'detached' })
    await page.locator('[data-action]').first().waitFor()
    assert.match(page.url(), /status=completed&type=custom/)
    await close()
  })

  it('offer a viewer nothing to run, and the API refuses as well', async () => {
    await world.openAll()
    const id = await world.callHook({})
    const { page, faults, close } = await openPage(world, `/app/actions/${id}`, world.viewer)
    await page.getByText('Every target completed.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Retry' }).count(), 0)
    await page.goto(`/app/pipelines/${world.pipelineId}`)
    await page.getByRole('heading', { name: 'Two steps' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Run' }).count(), 0)
    const refused = await page.request.post(`/actions/${id}/retry`, {
      headers: { 'x-gantry-request': '1' },
      data: {},
    })
    assert.equal(refused.status(), 403)
    assert.deepEqual(faults, [])
    await close()
  })

  it('run a pipeline with a comment and variables, after showing what would happen', async () => {
    await world.openAll()
    const { page, faults, close } = await openPage(world, '/app/pipelines')
    await page.getByRole('link', { name: 'Two steps' }).click()
    await page.getByRole('button', { name: 'Run' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 server, 2 steps each').waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await page.keyboard.press('Escape')
    await focusIsOn(page, 'Run')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Comment').fill('by hand')
    await dialog.getByLabel('Variables').fill('greeting=good morning')
    await dialog.getByRole('button', { name: 'Run' }).click()
    await page.getByText('Every target completed.').waitFor()
    await page.getByText('by hand').waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  it('show what hooks were called with, what they told, and how to manage them', async () => {
    await world.callHook({ greeting: 'for the record' })
    const { page, faults, close } = await openPage(world, '/app/hooks')
    await page.getByRole('link', { name: 'Outside world' }).click()
    await page.getByRole('button', { name: 'Details' }).first().click()
    await page.getByRole('dialog').getByText('for the record').waitFor()
    assert.match(await page.getByRole('dialog').innerText(), /curl -X POST .*\/replay/)
    await page.getByRole('button', { name: 'Close' }).press('Enter')
    await focusIsOn(page, 'Details')
    await page.goBack()
    await page.getByRole('link', { name: 'Deaf receiver' }).click()
    await page.getByText('The receiver could not be reached').first().waitFor()
    await page.getByText(/attempts failed/).waitFor()
    assert.match(await page.locator('body').innerText(), /\/preview'/)
    assert.deepEqual(faults, [])
    await close()
  })

  it('let the invited choose a password, and sign in with it', async () => {
    const login = { email: 'new@example.com', password: 'something of my own' }
    const { body } = await world.api('POST', '/organizations/1/members', {
      email: login.email,
      role: 'viewer',
    })
    const { page, close } = await openPage(world, new URL(body.invitation_url).pathname, null)
    await page.getByLabel('Your name').fill('Nora New')
    await page.getByLabel('Password', { exact: true }).fill(login.password)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page, login)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await close()
  })

  it('open a log of ten megabytes, and find its last line', async () => {
    await world.openAll()
    const id = await world.runLoudly()
    const { page, faults, close } = await openPage(world, `/app/actions/${id}`)
    await page.getByText('Every target completed.').waitFor()
    const log = page.getByLabel(/^Log of/)
    await log.getByText('line of a long log').first().waitFor()
    await page.getByLabel('Search the log').fill('needle at the end')
    await page.getByText('1 of 1').waitFor()
    await page.keyboard.press('Enter')
    await log.getByText('needle at the end').waitFor()
    assert.ok((await log.locator('[data-index]').count()) < 300, 'only what is in sight is drawn')
    assert.deepEqual(faults, [])
    await close()
  })

  it('answer an address that leads nowhere with a way out', async () => {
    const { page, close } = await openPage(world, '/app/actions/999999')
    await page.getByRole('heading', { name: 'There is no such action here' }).waitFor()
    const nowhere = [
      ['/app/nowhere', 'page'],
      ['/app/actions/none', 'action'],
      ['/app/pipelines/999999', 'pipeline'],
      ['/app/hooks/incoming/none', 'hook'],
    ] as const
    for (const [path, what] of nowhere) {
      await goTo(page, path)
      await page.getByRole('heading', { name: `There is no such ${what} here` }).waitFor()
    }
    await page.getByRole('link', { name: 'All actions' }).click()
    await page.locator('[data-action]').first().waitFor()
    await close()
  })

  it('have no serious fault of accessibility, no error and no forbidden style, light, dark and narrow', async () => {
    const { page, faults, close } = await openPage(world, '/app/overview')
    await page.getByRole('heading', { level: 1 }).waitFor()
    const id = await world.callHook({})
    for (const path of world.everyPage(id)) {
      await goTo(page, path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settled(page)
      for (const look of LOOKS) {
        await page.emulateMedia(look)
        await page.setViewportSize(look)
        assert.deepEqual(await findBarriers(page), [], `${path} (${look.colorScheme})`)
        const isTooWide = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
        assert.equal(isTooWide, false, `${path} is wider than ${look.width}`)
      }
    }
    assert.deepEqual(faults, [])
    await close()
  })

  testRunPage(() => world)
  describe('of several projects', () => testPlaces(() => world))
})

async function rowsAre(page: Page, count: number): Promise<void> {
  await until(`${count} rows`, 20_000, async () => (await page.locator('[data-action]').count()) === count)
}
