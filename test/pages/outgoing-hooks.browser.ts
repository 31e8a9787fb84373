// Outgoing hooks in a real browser, with a receiver on loopback.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { openReceiver } from '#test/support/deliveries.ts'
import { type Github, startGithub } from '#test/support/services/github.ts'
import { channelId, type Slack, startSlack } from '#test/support/services/slack.ts'
import { until } from '#test/support/until.ts'
import { arrowTo, focusedName, focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { goTo, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

/** The table, not that of the chart above it. */
const deliveries = (page: Page): Locator => page.getByRole('table', { name: 'Deliveries', exact: true })

describe('outgoing hooks', () => {
  let world: PagesWorld
  let receiver: Awaited<ReturnType<typeof openReceiver>>
  let github: Github
  let slack: Slack
  /** The page of the hook that the first test creates. */
  let hookPath: string
  /** The page of a hook with a preset. */
  let presetPath: string
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    const closer = { after: (end: () => Promise<void>) => ends.push(end) }
    world = await openPagesWorld(closer as never)
    receiver = await openReceiver(closer as never)
    github = await startGithub(closer as never)
    slack = await startSlack(closer as never)
    await world.openAll()
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const badge = (page: Page, label: string) =>
    page.getByRole('main').getByText(label, { exact: true }).first().waitFor()
  const hookId = () => hookPath.split('/').at(-1)!

  /** Runs the pipeline, and waits until its two deliveries have ended this way. */
  async function runUntil(outcome: string): Promise<void> {
    const actionId = await world.callHook({})
    await until(`the deliveries are ${outcome}`, 20_000, async () => {
      const { body } = await world.api('GET', `/hooks/outgoing/${hookId()}/requests?per_page=10`)
      const outcomes = (body as { action_id: number; outcome: string }[])
        .filter(({ action_id }) => action_id === actionId)
        .map((request) => request.outcome)
      return outcomes.length === 2 && outcomes.every((one) => one === outcome)
    })
  }

  it('send a message to Slack after at most 8 clicks from the overview', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    let clicks = 0
    const click = async (target: Locator) => {
      clicks += 1
      await target.click()
    }
    await click(page.getByRole('link', { name: /^hooks$/i }).first())
    await click(page.getByRole('button', { name: 'Add hook' }).first())
    await click(page.getByText('Outgoing: reports its runs'))
    await click(page.getByPlaceholder('Choose a pipeline'))
    await click(page.getByRole('option', { name: /^Two steps/ }))
    await click(page.getByRole('button', { name: /^Slack webhook/ }))
    // The only field that differs has the focus, the name has a default.
    await focusMovesTo(page, 'Webhook URL')
    await page.keyboard.insertText(`${receiver.url}/services/T/B/x`)
    await click(page.getByRole('button', { name: 'Create hook' }))
    await click(page.getByRole('button', { name: 'Send test' }))
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The receiver accepted it').waitFor()
    await dialog.getByText('thanks').waitFor()
    assert.ok(clicks <= 8, `${clicks} clicks`)
    assert.match(receiver.arrivals.at(-1)!.json.text, /Completed/)
    hookPath = new URL(page.url()).pathname
    assert.match(hookPath, /^\/app\/hooks\/outgoing\//)
    await page.keyboard.press('Escape')
    await page.getByText('Slack is set up').waitFor()
    await page.reload()
    await badge(page, 'Active')
    assert.equal(await page.getByText('Secret that signs').count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are created by keyboard alone', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await tabTo(page, 'Hooks')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hooks', level: 1 }).waitFor()
    await tabTo(page, 'Add hook')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Add hook' }).waitFor()
    await tabTo(page, /^Incoming: starts/)
    await page.keyboard.press('ArrowRight')
    await page.getByText('Who is notified?').waitFor()
    await tabTo(page, 'Pipeline')
    await page.keyboard.type('Two steps')
    await until('one pipeline is found', 10_000, async () => (await page.getByRole('option').count()) === 1)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await until('the pipeline is chosen', 10_000, async () =>
      page.url().includes(`pipeline=${world.pipelineId}`),
    )
    await tabTo(page, /^Your own receiver/)
    await page.keyboard.press('Enter')
    await focusMovesTo(page, /^URL of the receiver/)
    await page.keyboard.type(`${receiver.url}/own`)
    await tabTo(page, 'Name')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Keyboard <b>🎹</b>')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Keyboard <b>🎹</b>', level: 1 }).waitFor()
    const secret = page.getByLabel('Secret', { exact: true })
    assert.match(await secret.inputValue(), /^whsec_/)
    await tabTo(page, 'Send test')
    await page.keyboard.press('Enter')
    await page.getByText('The receiver accepted it').waitFor()
    assert.equal(receiver.arrivals.at(-1)!.json.event.kind, 'test')
    await page.keyboard.press('Escape')
    await focusMovesTo(page, 'Send test')
    // A name that long and strange is removed again, by keyboard as well.
    await tabTo(page, 'More actions')
    await page.keyboard.press('Enter')
    await arrowTo(page, 'Remove hook')
    await page.keyboard.press('Enter')
    await focusMovesTo(page, 'Remove hook')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hooks', level: 1 }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('preview the unsaved template, complete its names, and show where it is wrong', async () => {
    await runUntil('delivered')
    const { page, errors, close } = await openPage(world, hookPath)
    const preview = page.getByRole('region', { name: 'Body of the preview' })
    await preview.getByText('Custom: Completed').waitFor()
    const editor = page.getByRole('textbox', { name: 'Body template' })
    const write = async (text: string) => {
      await editor.click()
      await page.keyboard.press('Control+A')
      await page.keyboard.insertText(text)
    }
    await write('{\n  "text": "{{ action.nope }}"\n}')
    await page
      .getByText(/Line 2, text: has the unknown name action\.nope/)
      .first()
      .waitFor()
    await write('{\n  "text": oops\n}')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Is not valid JSON (line 2, column 11).').first().waitFor()
    await write('{"text": "{{ pipeline.')
    await page.keyboard.type('n')
    await page.getByRole('option', { name: /pipeline\.name/ }).click()
    await page.keyboard.insertText(' }} is {{ action.status }}"}')
    await preview.getByText('Two steps is completed').waitFor()

    const url = page.getByLabel('URL', { exact: true })
    await url.fill('http://169.254.169.254/latest')
    await page
      .getByText(/169\.254\.169\.254/)
      .first()
      .waitFor()
    await page.getByText('Fix what the form marks to see a preview.').waitFor()
    await url.fill(`${receiver.url}/services/T/B/x`)
    await preview.getByText('Two steps is completed').waitFor()

    // Somebody else is faster.
    await world.api('PUT', `/hooks/outgoing/${hookId()}`, { settings: { timeout_seconds: 7 } })
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Someone else saved changes while you were editing').waitFor()
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Hook Slack saved.').waitFor()
    const { settings } = (await world.api('GET', `/hooks/outgoing/${hookId()}`)).body
    assert.deepEqual(settings.request_body, { text: '{{ pipeline.name }} is {{ action.status }}' })
    assert.equal(settings.timeout_seconds, 7)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are never green while the receiver fails, and redeliver by mouse and by keyboard alone', async () => {
    const { page, errors, close } = await openPage(world, hookPath)
    await badge(page, 'Active')
    const headers = { 'content-type': 'text/html', 'x-note': '<img src=x onerror="hacked=1">' }
    receiver.answer(400, headers, `<h1>No</h1><script>hacked=1</script>${'x'.repeat(2_000_000)}`)
    await runUntil('refused')
    await badge(page, 'Failing')
    await page.getByText(/^Failed .* in a row$|^Failed once$/).waitFor()
    await goTo(page, '/app/hooks')
    const row = page.getByRole('row', { name: /Slack/ })
    await row.getByText('Failing').waitFor()
    assert.equal(await row.getByText('Active').count(), 0)
    await goTo(page, '/app/overview')
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByText('Hook failing').first().waitFor()
    await attention.getByRole('link', { name: 'Slack', exact: true }).click()

    await page
      .getByRole('row', { name: /Run completed.*Failed/ })
      .first()
      .getByRole('button')
      .click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('Receiver returned 400').waitFor()
    await drawer.getByText('<h1>No</h1><script>').waitFor()
    await drawer.getByText('<img src=x onerror').waitFor()
    assert.equal(await page.evaluate('typeof hacked'), 'undefined')
    receiver.answer(200)
    await page.route('**/replay', (route) => route.abort())
    await drawer.getByRole('button', { name: 'Redeliver' }).click()
    await page.getByText('Gantry is unreachable.').first().waitFor()
    await page.unroute('**/replay')
    await drawer.getByRole('button', { name: 'Redeliver' }).click()
    await drawer.getByText('Delivered', { exact: true }).waitFor()
    await drawer.getByText('2 attempts').waitFor()
    await page.keyboard.press('Escape')
    await badge(page, 'Active')

    await page.reload()
    await page.getByRole('row', { name: /Run started.*Failed/ }).waitFor()
    await tabTo(page, 'Run started')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('Receiver returned 400').waitFor()
    await tabTo(page, 'Redeliver')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('Delivered', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await focusMovesTo(page, 'Run started')
    assert.equal(await focusedName(page), 'Run started')
    assert.deepEqual(errors, [])
    await close()
  })

  it('redeliver everything that failed since a time, and say how much that is first', async () => {
    receiver.answer(400)
    await runUntil('refused')
    receiver.answer(200)
    const before = receiver.arrivals.length
    const { page, errors, close } = await openPage(world, hookPath)
    await page.getByRole('button', { name: 'Redeliver failed…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Failed since').selectOption('1')
    await dialog.getByText('2 deliveries will be sent again.').waitFor()
    await dialog.getByRole('button', { name: 'Redeliver 2' }).click()
    await page.getByText('2 deliveries sent again.').waitFor()
    await receiver.until(before + 2)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are paused and enabled, and show a new secret once', async () => {
    const { page, errors, close } = await openPage(world, hookPath)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Hook Slack paused.').waitFor()
    await page.getByText('Nothing is sent.', { exact: false }).waitFor()
    await deliveries(page).getByRole('row').nth(1).getByRole('button').click()
    const redeliver = page.getByRole('dialog').getByRole('button', { name: 'Redeliver' })
    assert.equal(await redeliver.getAttribute('aria-disabled'), 'true')
    assert.match(await redeliver.innerText(), /Enable the hook first/)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Enable' }).click()
    await badge(page, 'Active')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click()
    const secret = page.getByLabel('Secret', { exact: true })
    await secret.waitFor()
    assert.match(await secret.inputValue(), /^whsec_/)
    await page.getByRole('button', { name: 'Done' }).click()
    await secret.waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
    await close()
  })

  /** Adds a credential in the form of a receiver. Its URL is that of the stand-in. */
  async function addCredential(page: Page, token: string, url: string): Promise<void> {
    await page.getByLabel('Credential', { exact: true }).selectOption('Add a credential…')
    const fields = page.getByRole('group', { name: 'New credential' })
    await fields.getByLabel('Token').fill(token)
    await fields.getByText('More options').click()
    await fields.getByLabel('URL (optional)').fill(url)
    await fields.getByRole('button', { name: 'Save credential' }).click()
    await fields.waitFor({ state: 'detached' })
  }

  /** As the service would show it: a colored bar, what happened, and the facts. */
  async function showsMessage(page: Page): Promise<void> {
    const message = page.getByRole('region', { name: 'Message' })
    await message.getByText(/^\S+ .*, Development: /).waitFor()
    for (const label of ['Pipeline', 'Started by', 'Commit', 'Duration'])
      await message.getByText(label, { exact: true }).waitFor()
    await message.getByText('Two steps', { exact: true }).waitFor()
    assert.match((await message.locator('rect').getAttribute('fill'))!, /^#[0-9a-f]{6}$/)
    await looksRight(page, 'a chat message')
  }

  async function sendTest(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('The receiver accepted it').waitFor()
    await page.keyboard.press('Escape')
  }

  it('set commit statuses at GitHub with nothing but a credential', async () => {
    const { page, errors, close } = await openPage(world, '/app/hooks/new?type=outgoing&pipeline=1')
    await page.getByRole('button', { name: /^GitHub Status/ }).click()
    // The application of the sample has no credential of GitHub.
    await page.getByRole('option', { name: 'Select a credential' }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page.getByText('Select a credential.').waitFor()
    await addCredential(page, 'github-token', github.url)
    await page.getByRole('button', { name: 'Create hook' }).click()
    // Its repository is on this machine.
    await page.getByText(/whose address names no host/).waitFor()
    const { body: pipeline } = await world.api('GET', '/pipelines/1')
    const application = `/applications/${(pipeline as { resource_id: number }).resource_id}`
    const repository = `${github.url}/acme/shop.git`
    assert.equal((await world.api('PUT', application, { repository })).status, 200)
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page.getByRole('heading', { name: 'GitHub status', level: 1 }).waitFor()
    await page
      .getByRole('region', { name: 'Effective settings' })
      .getByText('credential.access_token')
      .waitFor()
    await sendTest(page)
    assert.equal(github.statuses.length, 1)
    assert.deepEqual(errors, [])
    presetPath = new URL(page.url()).pathname
    await close()
  })

  it('post messages to Slack with a credential and a channel, and become ordinary ones', async () => {
    const path = `/app/hooks/new?type=outgoing&pipeline=${world.pipelineId}`
    const { page, errors, close } = await openPage(world, path)
    await page.getByRole('button', { name: /^Slack One/ }).click()
    await addCredential(page, 'xoxb-token', slack.url)
    const channel = page.getByLabel('Channel')
    await channel.fill('two words')
    await page.getByLabel('Name', { exact: true }).fill('Slack preset')
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page.getByText('Must be the id or the name of a channel.').waitFor()
    await focusMovesTo(page, 'Channel')
    await channel.fill('#deploys')
    await page.getByRole('button', { name: 'Create hook' }).click()
    await page.getByRole('heading', { name: 'Slack preset', level: 1 }).waitFor()
    await showsMessage(page)
    await sendTest(page)
    assert.deepEqual(
      slack.messages.map((message) => message.channel),
      [channelId('#deploys')],
    )
    await channel.fill('#releases')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Hook Slack preset saved.').waitFor()

    await page.getByRole('button', { name: 'Make it an ordinary hook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Updates of Gantry no longer change them.').waitFor()
    await dialog.getByRole('button', { name: 'Make it ordinary' }).click()
    await page.getByText('Slack preset is an ordinary hook now.').waitFor()
    await page.getByRole('textbox', { name: 'Requests and captured values' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Make it an ordinary hook' }).count(), 0)
    const id = page.url().split('/').at(-1)
    const { settings } = (await world.api('GET', `/hooks/outgoing/${id}`)).body
    assert.equal(settings.requests.create.request_body.channel, '#releases')
    await sendTest(page)
    assert.equal(slack.messages.length, 2)
    assert.deepEqual(errors, [])
    await close()
  })

  it('tell a viewer why nothing can be changed, and show a new one to who may only add', async () => {
    const viewer = await openPage(world, hookPath, world.viewer)
    const button = viewer.page.getByRole('button', { name: /^Send test/ })
    await button.getByText('Your role does not include hook:edit').waitFor({ state: 'attached' })
    assert.equal(await button.getAttribute('aria-disabled'), 'true')
    assert.equal(await viewer.page.getByText('/services/T/B/x').count(), 0)
    await deliveries(viewer.page).getByRole('row').nth(1).getByRole('button').click()
    await viewer.page.getByText(/shown to people whose role includes hook:edit/).waitFor()
    await viewer.page.keyboard.press('Escape')
    await goTo(viewer.page, presetPath)
    await viewer.page.getByRole('region', { name: 'Effective settings' }).waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: /ordinary/ }).count(), 0)
    assert.deepEqual(viewer.errors, [])
    await viewer.close()

    const role = await world.api('POST', '/organizations/1/roles', {
      name: 'Adds hooks',
      permissions: ['server:view', 'hook:add'],
    })
    const adder = await world.invite('adder@example.com', { name: 'Ada Adder', role_id: role.body.id })
    const path = `/app/hooks/new?type=outgoing&pipeline=${world.pipelineId}`
    const { page, errors, close } = await openPage(world, path, adder)
    await page.getByRole('button', { name: /^Your own receiver/ }).click()
    await page.getByLabel('URL of the receiver').fill(`${receiver.url}/added`)
    await page.getByRole('button', { name: 'Create hook' }).click()
    assert.match(await page.getByLabel('Secret', { exact: true }).inputValue(), /^whsec_/)
    assert.deepEqual(errors, [])
    await close()
  })

  it('are accessible and fit, light and dark, wide and narrow', async () => {
    const { page, errors, close } = await openPage(world, '/app/hooks/new?type=outgoing')
    await page.getByRole('button', { name: /^GitLab/ }).waitFor()
    await looksRight(page, 'the gallery')
    await page.getByRole('button', { name: /^GitLab/ }).click()
    await page.getByRole('textbox', { name: 'Project' }).waitFor()
    await looksRight(page, 'the form of a receiver')
    await goTo(page, presetPath)
    await page.getByRole('button', { name: 'Make it an ordinary hook' }).click()
    await page.getByRole('dialog').waitFor()
    await looksRight(page, 'a hook with a preset')
    await page.keyboard.press('Escape')
    await goTo(page, hookPath)
    await page.getByRole('region', { name: 'Body of the preview' }).waitFor()
    await page.getByText('More options').click()
    await page.getByRole('button', { name: 'Add header' }).click()
    await page.getByRole('button', { name: 'Add condition' }).click()
    await looksRight(page, 'the page of a hook')
    await deliveries(page).getByRole('row').nth(1).getByRole('button').click()
    await page.getByRole('region', { name: 'Body of the request' }).waitFor()
    await looksRight(page, 'a delivery')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Redeliver failed…' }).click()
    await page.getByText('Nothing to send again', { exact: false }).waitFor()
    await looksRight(page, 'redelivering')
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform every operation that writes.ts lists', () => assertWrites(world, 'outgoing-hooks.browser.ts'))
})
