// The API reference in a real browser: what its scripts add to the page, and the page without them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openTestApp, type TestApp } from '#test/support/harness.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
import { openBrowser } from './browser.ts'
import { looksRight } from './looks.ts'
import { openPage } from './world.ts'

/**
 * Leaves a few tags and schemas, which look like all others, and lays them out: axe misjudges the colors of what is off
 * the screen and was not laid out yet.
 */
const ONE_OF_EACH = `
  document.querySelectorAll('main > section:nth-of-type(n + 6):not(:last-of-type), .schema:nth-of-type(n + 9)')
    .forEach((element) => element.remove())
  const [sheet] = document.styleSheets
  sheet.insertRule('.operation, .schema { content-visibility: visible }', sheet.cssRules.length)`

describe('the reference', () => {
  let world: { browser: Browser; url: string } & TestApp & TestTree
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    const app = await openTestApp({ after: (end: () => Promise<void>) => ends.push(end) })
    const tree = await createTestTree(app.db)
    app.app.server.listen(0, '127.0.0.1')
    await once(app.app.server, 'listening')
    const { port } = app.app.server.address() as AddressInfo
    const browser = await openBrowser()
    world = { ...app, ...tree, browser, url: `http://127.0.0.1:${port}` }
  })
  after(async () => {
    await world.browser.close()
    for (const end of ends.reverse()) await end()
  })

  // Roles and texts are searched in parts of the page: in all of it, that takes seconds.
  const operation = (page: Page, id: string) => page.locator(`article#${id}`)
  const header = (page: Page) => page.locator('header')
  const tokenForm = (page: Page) => page.locator('form[aria-label="Token for Try it"]')

  async function open(path = '/docs') {
    const opened = await openPage(world, path, null)
    await header(opened.page).getByRole('combobox', { name: 'Search the API' }).waitFor()
    return opened
  }

  async function useToken(page: Page, token: string): Promise<void> {
    await tokenForm(page).getByLabel('Token for Try it').fill(token)
    await tokenForm(page).getByRole('button', { name: 'Use' }).click()
  }

  it('finds calls by the keyboard alone, and goes there', async () => {
    const { page, errors, close } = await open()
    const search = header(page).getByRole('combobox')
    await page.keyboard.press('/')
    await page.keyboard.type('rotate secret')
    const options = header(page).getByRole('option')
    assert.match(await options.first().innerText(), /Rotate the secret of an incoming hook/)
    assert.equal(await search.getAttribute('aria-expanded'), 'true')
    assert.equal(await options.first().getAttribute('aria-selected'), 'true')
    await page.keyboard.press('ArrowDown')
    const active = await search.getAttribute('aria-activedescendant')
    assert.match(await page.locator(`#${active}`).innerText(), /of an outgoing hook/)
    await page.keyboard.press('Enter')
    assert.equal(new URL(page.url()).hash, '#rotateOutgoingHookSecret')
    const heading = operation(page, 'rotateOutgoingHookSecret')
      .getByRole('link', { name: 'Rotate the secret of an outgoing hook' })
      .last()
    await assertInView(page, heading)
    const current = page.locator('nav a[aria-current]')
    assert.match(await current.innerText(), /outgoing hook/)
    await assertInView(page, current)

    await search.fill('nothing has this name')
    await header(page).getByRole('status').getByText('No results').waitFor()
    assert.equal(await options.count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('opens at the call or the schema that a link names', async () => {
    const { page, close } = await open('/docs#createIncomingHook')
    await assertInView(page, operation(page, 'createIncomingHook').getByRole('heading').first())
    await page.goto('/docs#schema-Error')
    await assertInView(page, page.locator('#schema-Error h3'))
    await close()
  })

  it('copies the sample that is shown, in the language that was chosen before', async () => {
    const { page, close } = await open('/docs#readOrganization')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const samples = operation(page, 'readOrganization').locator('.samples')
    const copied = async () => {
      await samples.getByRole('button', { name: 'Copy' }).click()
      await samples.getByRole('button', { name: 'Copied' }).waitFor()
      return (await page.evaluate('navigator.clipboard.readText()')) as string
    }
    assert.match(await copied(), /^curl http:\/\/gantry\.test\/organizations\/1 \\\n/)
    await samples.getByRole('button', { name: 'TypeScript' }).click()
    assert.match(await copied(), /^import { createGantry } from '@gantry\/client'\n/)
    await page.reload()
    assert.ok(await samples.locator('figure[data-language=TypeScript]').isVisible())
    assert.equal(await samples.locator('figure[data-language=curl]').isVisible(), false)
    await close()
  })

  it('unfolds the fields of a schema in place, also of one inside of another', async () => {
    const { page, close } = await open('/docs#listActions')
    const article = operation(page, 'listActions')
    await article.getByText('Fields of ActionListItem').click()
    await article.getByText('trigger_comment', { exact: true }).waitFor()
    await article.getByText('Fields of Organization').first().click()
    await article.getByText('url_slug', { exact: true }).first().waitFor()
    await close()
  })

  it('tries a call with the token of this tab, and shows status, headers and body', async () => {
    const { page, errors, close } = await open()
    await useToken(page, 'gty_not_a_token')
    await tokenForm(page)
      .getByText(/^401: /)
      .waitFor()
    await useToken(page, world.owner.token)
    await tokenForm(page).getByText(`(${world.owner.email})`).waitFor()

    const article = operation(page, 'readOrganization')
    await article.getByRole('button', { name: 'Try it' }).click()
    await article.getByRole('button', { name: 'Send' }).click()
    assert.equal(await article.getByLabel('id').getAttribute('aria-invalid'), 'true')
    await article.getByLabel('id').fill(String(world.organizationId))
    await article.getByRole('button', { name: 'Send' }).click()
    await article.getByRole('status').getByText('200').waitFor()
    const body = article.getByLabel('Response body')
    assert.match(await body.innerText(), /^\{\n {2}"id": 1,\n/)
    await article.getByText(/^Headers \(\d+\)$/).click()
    assert.match(await article.locator('.response').innerText(), /x-request-id: /)

    const stored = await page.evaluate('JSON.stringify([Object.values(localStorage), document.cookie])')
    assert.ok(!String(stored).includes(world.owner.token))
    const elsewhere = await page.context().newPage()
    await elsewhere.goto('/docs')
    assert.equal(await elsewhere.evaluate('sessionStorage.length'), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('sends a body, shows what is wrong with it, and asks before it removes something', async () => {
    const { page, errors, close } = await open()
    await useToken(page, world.owner.token)
    const create = operation(page, 'createProject')
    await create.getByRole('button', { name: 'Try it' }).click()
    await create.getByLabel('id').fill(String(world.organizationId))
    await create.getByLabel('Body', { exact: true }).fill('{"nam": 1}')
    await create.getByRole('button', { name: 'Send' }).click()
    await create.getByRole('status').getByText('422').waitFor()
    await create.getByLabel('Body', { exact: true }).fill('{"name": "Made here"}')
    await create.getByRole('button', { name: 'Send' }).click()
    await create.getByRole('status').getByText('201').waitFor()
    const made = JSON.parse(await create.getByLabel('Response body').innerText()) as { id: number }

    const remove = operation(page, 'removeProject')
    const isThere = async () =>
      (await world.request('GET', `/projects/${made.id}`, { token: world.owner.token })).status === 200
    await remove.getByRole('button', { name: 'Try it' }).click()
    await remove.getByLabel('id').fill(String(made.id))
    await remove.getByRole('button', { name: 'Send' }).click()
    const dialog = page.getByRole('dialog', { name: 'Send this DELETE?' })
    assert.match(await dialog.innerText(), new RegExp(`DELETE /projects/${made.id}`))
    await page.keyboard.press('Escape')
    assert.equal(await isThere(), true)
    await remove.getByRole('button', { name: 'Send' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await remove.getByRole('status').getByText('204').waitFor()
    assert.equal(await isThere(), false)
    assert.deepEqual(errors, [])
    await close()
  })

  it('shows a stream as it arrives, until it is stopped', async () => {
    const { page, close } = await open()
    await useToken(page, world.owner.token)
    const article = operation(page, 'streamActions')
    await article.getByRole('button', { name: 'Try it' }).click()
    await article.getByRole('button', { name: 'Send' }).click()
    await article.getByLabel('Response body').getByText('event: ready').waitFor()
    await article.getByRole('button', { name: 'Stop' }).click()
    await article.getByRole('status').getByText('Stopped').waitFor()
    await close()
  })

  it('is accessible and fits its window, light and dark, wide and narrow', async () => {
    const { page, errors, close } = await open('/docs#runPipeline')
    await operation(page, 'runPipeline').getByRole('button', { name: 'Try it' }).click()
    await header(page).getByRole('combobox').fill('hook')
    await header(page).getByRole('option').first().waitFor()
    await page.evaluate(ONE_OF_EACH)
    await looksRight(page, 'the reference', 1280)
    assert.deepEqual(errors, [])
    await close()
  })

  it('is complete without scripts: contents, samples in both languages, schemas', async () => {
    const context = await world.browser.newContext({ baseURL: world.url, javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto('/docs')
    await page.locator('nav summary', { hasText: 'Hooks' }).first().click()
    await page.locator('nav').getByText('Create an incoming hook').click()
    const article = operation(page, 'createIncomingHook')
    await assertInView(page, article.locator('h3'))
    for (const language of ['curl', 'TypeScript'])
      assert.ok(await article.locator(`figure[data-language=${language}]`).isVisible(), language)
    assert.equal(await page.getByRole('button').count(), 0)
    await context.close()
  })
})

/** Where a reader sees it, once the page has scrolled there. */
async function assertInView(page: Page, target: ReturnType<Page['locator']>): Promise<void> {
  const handle = await target.elementHandle()
  await page.waitForFunction(
    `(element) => {
      const { top, bottom } = element.getBoundingClientRect()
      return top >= 0 && bottom <= innerHeight
    }`,
    handle,
    { timeout: 5_000 },
  )
}
